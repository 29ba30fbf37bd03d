"""What is published of the measurements: files, order, blocked texts, revisions."""

import json
from dataclasses import replace
from datetime import date

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybriddp.errors import InvalidParameter
from hybriddp.zealous.item_kinds import ITEM_KINDS
from tasks.ledger.payloads import Publication
from tasks.ledger.rules import Kind
from tasks.measured.stored import load_measurement
from tasks.products.histograms.draws import identify, mechanism_of
from tasks.products.histograms.estimation.tables import build_table, rank_items
from tasks.publish.publication import publication_files
from tasks.publish.shelf import newest_folder
from tasks.publish.withdraw import withdraw
from tasks.release.refusals import BadInput, BudgetRefused
from tasks.release.reprocess import ReprocessRequest, run_reprocess
from tasks.release.walk import run_release
from tasks.verify.checks import VerificationFailed
from tasks.verify.signatures import read_public_key
from tasks.verify.verify import verify_release
from tests.publish.proposals import require_a_notice_only, require_whole
from tests.release.support import files_below
from tests.zealous.support import PUBLISHED, ledger_rows, published_items, request_for, write_log

pytestmark = pytest.mark.usefixtures("gates_waived")

COLUMNS = {
    "keywords": ["rank", "keyword", "contributors"],
    "queries": ["rank", "query", "contributors"],
    "pairs": ["rank", "query", "next_query", "contributors"],
    "clicks": ["rank", "query", "url", "contributors"],
}


def manifest_of(folder):
    return json.loads((folder / "manifest.json").read_bytes())


def texts_of(folder, kind):
    return {item[:-1] for item in published_items(folder, kind)}


def test_every_histogram_is_a_table_in_two_forms_with_ranks_in_the_order_of_its_counts(folder):
    names = [f"{kind}.{form}" for kind in ITEM_KINDS for form in ("parquet", "jsonl")]
    expected = {*names, "label.md", "manifest.json", "manifest.sig"}
    assert {path.name for path in folder.iterdir()} == expected
    for kind in ITEM_KINDS:
        table = pq.read_table(folder / f"{kind}.parquet")
        types = [pa.int64(), *[pa.string()] * (len(COLUMNS[kind]) - 2), pa.int64()]
        assert (table.schema.names, table.schema.types) == (COLUMNS[kind], types)
        rows = table.to_pylist()
        lines = (folder / f"{kind}.jsonl").read_text(encoding="utf-8").splitlines()
        assert [json.loads(line) for line in lines] == rows
        assert [row["rank"] for row in rows] == list(range(1, len(rows) + 1))
        counts = [row["contributors"] for row in rows]
        assert counts == sorted(counts, reverse=True)
        assert texts_of(folder, kind) == PUBLISHED[kind]


def test_every_published_count_is_above_its_threshold_and_near_the_truth(run, folder):
    """With one item each, everybody is in exactly one count, unless their item is hidden."""
    for kind in ITEM_KINDS:
        mechanism = mechanism_of(run, kind)
        counts = [row[-1] for row in published_items(folder, kind)]
        assert min(counts) > mechanism.threshold >= mechanism.first_threshold
        assert manifest_of(folder)["histograms"][kind]["threshold"] == mechanism.threshold
        # Of 601 people at least 400 have popular items only. Four noises of scale 2 sum to more
        # than 100 with probability below 1e-9.
        assert 300 <= sum(counts) <= 701


def test_people_who_could_be_asked_for_several_items_are_in_several_counts(log, home):
    """With as many items as anybody has, everybody's are counted: the whole session of 600."""
    request = request_for(log, items_per_user=10, epsilon=12, histograms=("queries", "pairs"))
    folder = run_release(identify(request, home))
    for kind in request.kinds:
        assert texts_of(folder, kind) == PUBLISHED[kind]
        # Noise of scale 20/6 is beyond 75 with probability below 1e-9.
        assert all(abs(row[-1] - 600) <= 75 for row in published_items(folder, kind))


def test_nothing_popular_is_a_release_without_rows(root, home):
    rows = [(f"n{n}", f"own{n}", "2026-11-10 10:00:00", f"http://{n}") for n in range(30)]
    kinds = ("queries", "clicks")
    log = write_log(root / "log.tsv", rows)
    agreed = {"ignore_plan": True, "accept_collapse": True}
    run = identify(request_for(log, histograms=kinds, epsilon=2, **agreed), home)
    folder = run_release(run)
    assert manifest_of(folder)["rows"] == dict.fromkeys(kinds, 0)
    assert all((folder / f"{kind}.jsonl").read_bytes() == b"" for kind in kinds)
    verify_release(folder, read_public_key(home.public / "signing.pub"), measurements=run.folder)


def test_a_release_may_be_of_some_histograms_only(log, home):
    """Clicks without queries are counted on all queries."""
    kinds = ("clicks", "keywords")
    request = request_for(log, histograms=kinds)
    folder = run_release(identify(request, home))
    names = {path.name for path in folder.iterdir()} - {"label.md", "manifest.json", "manifest.sig"}
    assert names == {f"{kind}.{form}" for kind in kinds for form in ("parquet", "jsonl")}
    assert set(manifest_of(folder)["guarantees"]) == set(kinds)
    for kind in kinds:
        assert texts_of(folder, kind) >= PUBLISHED[kind]


ITEMS = st.lists(
    st.tuples(st.text(min_size=1, max_size=3), st.text(min_size=1, max_size=3), st.integers(1, 4)),
    unique_by=lambda item: item[:2],
)


@given(ITEMS, st.data())
def test_a_table_does_not_depend_on_the_order_of_its_measurement(items, data):
    """Ties are broken by text, and a blocked query is in neither column of a pair."""
    schema = pa.schema({"query": pa.string(), "next_query": pa.string(), "users": pa.int64()})
    other = data.draw(st.permutations(items))
    blocked = frozenset(data.draw(st.sets(st.sampled_from(items)))) if items else frozenset()
    queries = frozenset(item[data.draw(st.integers(0, 1))] for item in blocked)

    def build(rows):
        columns = zip(schema.names, map(list, zip(*rows, strict=True)), strict=False)
        empty = {name: [] for name in schema.names}
        measured = pa.table(empty | dict(columns), schema=schema)
        return build_table("pairs", rank_items("pairs", measured), queries)

    made = build(items)
    assert made.equals(build(other))
    shown = [(row["query"], row["next_query"], row["contributors"]) for row in made.to_pylist()]
    kept = [item for item in items if item[0] not in queries and item[1] not in queries]
    assert shown == sorted(kept, key=lambda item: (-item[2], *item[:2]))


def reprocess(run, **changes):
    return run_reprocess(ReprocessRequest(release_id=run.release_id, **changes), run.home)


def blocklist(run, text):
    path = run.home.root / "blocked.txt"
    path.write_text(text)
    return path


def test_a_blocked_query_is_in_no_histogram_of_a_revision(run, folder, key):
    """As a query, on either side of a pair, with its clicks, and as a keyword; urls stay."""
    measured = files_below(run.folder)
    revised = reprocess(
        run, blocklist=blocklist(run, " NEWS   today \n\nmaps\nhttp://weather.com\n")
    )
    assert revised.name == f"{run.release_id}.r2"
    assert {kind: texts_of(revised, kind) for kind in ITEM_KINDS} == {
        "keywords": {("weather",), ("news",), ("today",)},
        "queries": {("weather",)},
        "pairs": set(),
        "clicks": {("weather", "http://weather.com")},
    }
    public = b"".join(files_below(revised).values())
    assert b"news today" not in public
    assert b"maps" not in public
    manifest, _ = verify_release(revised, key, measurements=run.folder, min_sequence=2)
    assert (manifest.revision, manifest.previous) == (2, folder.name)
    assert manifest.blocked_items == 1 + 2 + 2 + 1
    assert set(files_below(folder)) == {"withdrawn.json", "withdrawn.sig"}, "it named them"
    assert files_below(run.folder) == measured
    assert newest_folder(folder.parent) == revised
    assert len(ledger_rows(run.home, Kind.RESERVED)) == 1


def test_a_replay_does_not_pass_over_a_blocklist_that_holds_what_is_published(run, log, folder):
    asked = request_for(log, blocklist=blocklist(run, "today\n"))
    with pytest.raises(BadInput, match=f"reprocess {run.release_id} --blocklist"):
        run_release(identify(asked, run.home))
    assert ("today",) in texts_of(folder, "keywords")
    revised = reprocess(run, blocklist=asked.blocklist)
    assert run_release(identify(asked, run.home)) == revised
    assert ("today",) not in texts_of(revised, "keywords")


def test_a_release_that_is_blocked_from_the_start_verifies(log, home, root):
    (root / "blocked.txt").write_text("weather\n")
    blocked, kinds = root / "blocked.txt", ("queries", "clicks")
    request = request_for(log, blocklist=blocked, histograms=kinds, epsilon=2)
    run = identify(request, home)
    folder = run_release(run)
    assert {kind: texts_of(folder, kind) for kind in request.kinds} == {
        "queries": {("news today",), ("maps",)},
        "clicks": {("news today", "http://news.com")},
    }
    verify_release(folder, read_public_key(home.public / "signing.pub"), measurements=run.folder)


def test_blocked_texts_stay_blocked_whatever_later_lists_forget(run):
    assert ("maps",) not in texts_of(reprocess(run, blocklist=blocklist(run, "maps\n")), "queries")
    assert ("maps",) not in texts_of(reprocess(run, valid_days=30), "queries")
    assert ("maps",) not in texts_of(reprocess(run, blocklist=blocklist(run, "")), "queries")


def test_reprocessing_makes_a_revision_only_if_something_differs(run, folder):
    before = files_below(run.home.public)
    for same in ({}, {"valid_days": 14}, {"blocklist": blocklist(run, "nobody asks for this\n")}):
        assert reprocess(run, **same) == folder
    assert files_below(run.home.public) == before
    assert ledger_rows(run.home, Kind.REVISED) == []
    first, second = reprocess(run, valid_days=30), reprocess(run, valid_days=30)
    assert first == second == folder.with_name(f"{folder.name}.r2")
    assert [entry.draw for entry in ledger_rows(run.home, Kind.REVISED)] == ["2"]
    created, expires = (manifest_of(first)[name][:10] for name in ("created", "expires"))
    assert (date.fromisoformat(expires) - date.fromisoformat(created)).days == 30
    for kind in ITEM_KINDS:
        assert (first / f"{kind}.jsonl").read_bytes() == (folder / f"{kind}.jsonl").read_bytes()


@pytest.mark.parametrize("setting", [{"decimals": 3}, {"min_agreement": 0.1}])
def test_settings_that_histograms_do_not_have_are_refused(run, setting):
    [name] = setting
    with pytest.raises(InvalidParameter, match=f"{name}: is no setting of this"):
        reprocess(run, **setting)
    assert ledger_rows(run.home, Kind.REVISED) == []


def test_withdrawn_histograms_are_refused_and_nobody_is_pointed_to_them(run, folder, key):
    assert withdraw(run.home, run.release_id, "a test") == [folder]
    with pytest.raises(VerificationFailed, match="withdrawn"):
        verify_release(folder, key)
    assert not (folder.parent / "latest.json").exists()
    with pytest.raises(BudgetRefused, match="was withdrawn"):
        identify(run.request, run.home)


def test_a_second_release_follows_the_first_on_the_shelf(run, folder):
    request = request_for(run.request.log, epoch="2026-11-10", histograms=("queries",))
    second = run_release(identify(request, run.home))
    manifest = manifest_of(second)
    assert (manifest["sequence"], manifest["previous"]) == (2, folder.name)
    assert newest_folder(folder.parent) == second


def test_measurements_are_what_was_drawn_and_in_the_order_of_the_texts(run, folder):
    """Not in the log's order, nor in that of a hash table: that could tell of rows."""
    for kind in ITEM_KINDS:
        measured = load_measurement(run, kind)
        rows = [tuple(row.values()) for row in measured.to_pylist()]
        assert rows == sorted(rows)
        assert set(rows) == set(published_items(folder, kind))


def test_whoever_signs_off_sees_all_and_a_withdrawal_leaves_a_notice_only(run, folder):
    require_whole(run, folder)
    require_a_notice_only(run, folder)


def test_histograms_of_the_first_version_keep_their_column_and_still_verify(run, folder, key):
    """Files of 0.1.0 call contributors users; its ledger's rows say no schema version."""
    published = run.state.find(Kind.PUBLISHED)
    payload = published.payload.as_json() | {"code_version": "0.1.0"}
    del payload["schema_version"]
    old = replace(published, payload=Publication(**payload))
    for name, data in publication_files(run, old).items():
        (folder / name).write_bytes(data)
    manifest, checks = verify_release(folder, key, measurements=run.folder)
    assert (manifest.schema_version, checks[-1].name) == (2, "recomputed")
    assert pq.read_schema(folder / "queries.parquet").names == ["rank", "query", "users"]
