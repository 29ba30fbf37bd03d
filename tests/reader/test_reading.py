"""What a reader gives out is what was published: rows, completions, urls, changes, frames."""

import json
import sys
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybriddp.device.normalise import normalise_query
from hybriddp.errors import InvalidParameter
from hybriddp.reader import Change, Completion, Manifest, Query, Record, Release, open_release
from hybriddp.reader.manifest import read_manifest
from tasks.products.head_list.estimation.columns import CHANGES, HEAD_LIST, TRENDS
from tasks.publish.shelf import look_up
from tests.reader.test_tampered import require_refused

OLD = datetime(2026, 11, 18, tzinfo=UTC)  # when the lists of older versions had not expired
TEXTS = st.text(st.sampled_from("aAbß \u0130\u030c\u01f0j\u202e\U0001f600\U0010ffff"), max_size=4)


def release_of(queries: list[str]) -> Release:
    """A release of these queries, the first the likeliest, each with one url."""
    n = len(queries)
    shown = [(rank, 1, n, query) for rank, query in enumerate(queries, 1)]
    manifest = SimpleNamespace(product="p", locale="l", epoch="e", sequence=1)
    return Release(
        manifest=manifest,  # type: ignore[arg-type]
        label="",
        records=tuple(Record(*row, f"http://{row[3]}", 0.5, 0, 1) for row in shown),
        queries=tuple(Query(*row, 0.5, 0, 1) for row in shown),
        changed=(),
    )


def test_rows_are_the_published_ones_in_their_order(shelf):
    release = open_release(shelf.path, shelf.key)
    named = zip(
        ("head_list", "trends", "changes"),
        (list(release), release.queries, release.changes()),
        strict=True,
    )
    for table, rows in named:
        found = [{name: getattr(row, name) for name in type(row).__slots__} for row in rows]
        assert found == shelf.rows(table)
        assert found, "a table without a row shows nothing"
    assert len(release) == len(shelf.rows("head_list"))
    assert release.label == (shelf.newest / "label.md").read_text()
    for kind, schema in ((Record, HEAD_LIST), (Query, TRENDS), (Change, CHANGES)):
        assert list(kind.__slots__) == schema.names


def test_facts_are_those_of_the_manifest(shelf):
    said, manifest = shelf.manifest, open_release(shelf.path, shelf.key).manifest
    for name in ("product", "locale", "epoch", "release_id", "attempt", "revision", "sequence"):
        assert getattr(manifest, name) == said[name]
    assert manifest.created.isoformat() == said["created"]
    assert manifest.expires.isoformat() == said["expires"]
    assert {one.group: one.people for one in manifest.guarantees} == {
        group: stated["people"] for group, stated in said["guarantees"].items()
    }
    clients = next(one for one in manifest.guarantees if one.group == "C")
    assert (clients.epsilon, clients.delta, clients.rho) == (4, 0, 0)
    assert "search/all 2026-W41, sequence 2" in repr(open_release(shelf.path, shelf.key))


@pytest.mark.property
@given(prefix=st.one_of(TEXTS, st.sampled_from(["m", "MA", " weather ", "", "maps x", "ne"])))
def test_a_real_release_is_completed_as_the_command_completes_it(published, prefix):
    release = open_release(published.path, published.key)
    found = [
        {
            "query": one.query,
            "probability": one.probability,
            "urls": [{"url": r.url, "probability": r.probability} for r in one.urls],
        }
        for one in release.lookup(prefix, 2)
    ]
    assert found == look_up(published.newest, prefix, 2)


@pytest.mark.property
@given(
    queries=st.lists(TEXTS.map(normalise_query), unique=True, max_size=12),
    prefix=TEXTS,
    limit=st.integers(1, 5),
)
def test_a_lookup_is_every_query_that_begins_so_the_likeliest_first(queries, prefix, limit):
    release = release_of(queries)
    wanted = [query for query in queries if query.startswith(normalise_query(prefix))]
    found = release.lookup(prefix, limit)
    assert [one.query for one in found] == wanted[:limit]
    assert all([record.query for record in one.urls] == [one.query] for one in found)


@pytest.mark.property
@given(queries=st.lists(TEXTS.map(normalise_query), unique=True, max_size=9), asked=TEXTS)
def test_urls_are_those_of_the_normalised_query(queries, asked):
    wanted = normalise_query(asked)
    found = release_of(queries).urls(asked)
    assert [record.url for record in found] == [f"http://{wanted}"] * (wanted in queries)


def test_a_query_has_its_urls_in_their_order_and_may_have_none():
    records = tuple(Record(rank, 1, 3, "a", f"u{rank}", 0.1, 0, 1) for rank in (1, 2, 3))
    queries = (Query(1, 1, 2, "a", 0.3, 0, 1), Query(2, 1, 2, "ab", 0.2, 0, 1))
    release = Release(None, "", records, queries, ())  # type: ignore[arg-type]
    assert [record.url for record in release.urls("A")] == ["u1", "u2", "u3"]
    assert release.lookup("ab") == (Completion(queries[1], ()),)


@pytest.mark.parametrize("limit", [0, -1, True, 2.5, None])
def test_a_limit_is_a_number_of_queries(limit):
    with pytest.raises(InvalidParameter, match="limit must be a whole number"):
        release_of(["a"]).lookup("a", limit)


def test_ten_thousand_queries_are_looked_up_without_reading_all_of_them():
    release = release_of([f"query {number}" for number in range(10_000)])
    assert [one.row.rank for one in release.lookup("query 99", 3)] == [100, 991, 992]
    assert len(release.lookup("", 7)) == 7


def test_an_empty_list_is_a_list(shelf):
    for table in ("head_list", "trends", "changes"):
        shelf.sign_rows(table, [])
    release = open_release(shelf.path, shelf.key)
    assert (len(release), list(release), release.lookup(""), release.urls("a")) == (0, [], (), ())
    assert list(release.frame().columns) == HEAD_LIST.names


def test_a_release_without_changes_has_none(shelf):
    files = {n: f for n, f in shelf.manifest["files"].items() if not n.startswith("changes")}
    shelf.sign_manifest(files=files)
    assert open_release(shelf.path, shelf.key).changes() == ()


@pytest.mark.parametrize("table", ["head_list", "trends", "changes"])
def test_frames_of_either_library_say_what_the_rows_say(shelf, monkeypatch, table):
    release = open_release(shelf.path, shelf.key)
    assert release.frame(table).to_dicts() == shelf.rows(table)
    monkeypatch.setitem(sys.modules, "polars", None)
    assert json.loads(release.frame(table).to_json(orient="records")) == shelf.rows(table)
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(InvalidParameter, match="pip install polars"):
        release.frame(table)


def test_another_table_is_refused(shelf):
    with pytest.raises(InvalidParameter, match="table must be one of head_list, trends, changes"):
        open_release(shelf.path, shelf.key).frame("label")


def _shelves(homes: dict[str, Path]) -> list[tuple[str, Path, bytes]]:
    found = []
    for folder in homes.values():
        for pointer in sorted(folder.glob("*/public/*/*/latest.json")):
            key = bytes.fromhex((pointer.parents[2] / "signing.pub").read_text())
            found.append((pointer.parents[1].name, pointer.parent, key))
    return found


def test_lists_of_older_versions_are_read_and_releases_of_other_kinds_refused(old_homes):
    opened, refused = set(), set()
    for product, shelf, key in _shelves(old_homes):
        pointer = json.loads((shelf / "latest.json").read_bytes())
        if (shelf / pointer["release"] / "head_list.jsonl").exists():
            release = open_release(shelf, key, now=OLD)
            assert release.manifest.product == product
            assert len(release) == release.manifest.rows["head_list"]
            opened.add(product)
        else:
            require_refused("not-a-list", shelf, key, now=OLD)
            refused.add(product)
    assert {"search", "paper", "devices", "rotated"} <= opened
    assert {"mean", "clusters", "histograms"} <= refused


def test_every_manifest_that_verify_reads_is_read_here_with_the_same_facts(old_homes):
    from tasks.publish.pointer import folder_of
    from tasks.verify.reading import read_manifest as verify_reads

    found = [
        path.read_bytes() for home in old_homes.values() for path in home.rglob("manifest.json")
    ]
    assert len(found) > 20
    for data in found:
        ours, theirs = read_manifest(data), verify_reads(data)
        assert isinstance(ours, Manifest)
        assert ours.on_shelf["release"] == folder_of(theirs)
        assert ours.sequence == theirs.sequence
        assert {n: (f.bytes, f.sha256) for n, f in theirs.files.items()} == ours.files


def test_withdrawn_releases_of_older_versions_are_refused(old_homes):
    notices = [
        path for home in old_homes.values() for path in home.glob("*/public/*/*/*/withdrawn.json")
    ]
    assert notices
    for path in notices:
        key = bytes.fromhex((path.parents[3] / "signing.pub").read_text())
        require_refused("withdrawn", path.parent, key, now=OLD)


def test_it_expires_at_the_moment_that_was_signed_in_any_time_zone(shelf):
    expires = open_release(shelf.path, shelf.key).manifest.expires
    west = timezone(timedelta(hours=-11))
    before = expires - timedelta(microseconds=1)
    for now in (before, before.astimezone(west)):
        open_release(shelf.path, shelf.key, now=now)
    for now in (expires, expires.astimezone(west), expires + timedelta(days=400)):
        require_refused("expired", shelf.path, shelf.key, now=now)
    with pytest.raises(InvalidParameter, match="time zone"):
        open_release(shelf.path, shelf.key, now=datetime(2026, 11, 18))
