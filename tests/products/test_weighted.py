"""A head list with weights, through the product's own steps: what people give is theirs alone."""

import random
import shutil
from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from hybriddp.arrays import NamedCounts
from hybriddp.blender.headlist import HeadList
from hybriddp.blender.weighted.mechanism import ShareMeasuring, WeightedFinding
from hybriddp.blender.weighted.searches import Searches
from hybriddp.blender.weighted.weights import SHARE_UNITS, WEIGHT_UNITS
from hybriddp.device.normalise import normalise_query, normalise_url
from hybriddp.errors import HybridDPError
from hybriddp.params import BlenderParams
from tasks.log.warehouse import open_warehouse
from tasks.measured.stored import load_measurement
from tasks.products.head_list import HEADLIST
from tasks.products.head_list.estimation.listing import CONCENTRATION, Listing, Measured
from tasks.products.head_list.measuring.draws import draw_head_list
from tasks.products.head_list.measuring.left_out_file import named_records, without
from tasks.products.head_list.measuring.weighted import shares_on, sum_records
from tasks.products.head_list.run import HeadListRun, params_of
from tests.homes import new_home
from tests.release.conftest import fast_folder, root  # noqa: F401 - fixtures
from tests.release.support import COLUMNS, request_by_column, reserve_release, sealed_groups

K = 3
QUERIES = (
    "maps",
    "MAPS",
    " news\u00a0today ",
    "Straße",
    "STRASSE",
    "\u2028",
    "q'\"x",
    "e\u0301",
    "\u00e9",
)
URLS = ("http://a.com", "http://a.com ", "http://b.com", "")
Row = tuple[str, str, str]


def rows_of(person: str, seed: int, n_rows: int) -> list[Row]:
    draw = random.Random(seed)
    return [(person, draw.choice(QUERIES), draw.choice(URLS)) for _ in range(n_rows)]


# Five people with 1 to 60 rows each, and many with one, so that groups are large enough.
FEW = {f"few{n}": rows_of(f"few{n}", n, size) for n, size in enumerate((1, 2, 5, 20, 60))}
MANY = {f"many{n}": rows_of(f"many{n}", 100 + n, 1) for n in range(120)}
CLIENTS = {f"client{n}": rows_of(f"client{n}", 300 + n, 1) for n in range(60)}


def write_log(path: Path, people: dict[str, list[Row]], order: int = 0) -> Path:
    rows = [row for own in people.values() for row in own]
    random.Random(order).shuffle(rows)
    lines = [
        f"{person}\t{query}\t2026-11-10 00:00:00\t1\t{url}\t{int(not person.startswith('client'))}"
        for person, query, url in rows
    ]
    path.write_text("\n".join([COLUMNS, *lines]) + "\n", encoding="utf-8")
    return path


def charged(folder: Path, people: dict[str, list[Row]], order: int = 0) -> HeadListRun:
    log = write_log(folder / f"log-{order}.tsv", people, order)
    request = request_by_column(
        log, finding="gaussian", max_records_optin=K, headlist_user_fraction=None,
        optin_fraction=None,
    )  # fmt: skip
    return reserve_release(request, new_home(folder / "home"))


def everybody() -> dict[str, list[Row]]:
    return FEW | MANY | CLIENTS


def given_by(run: HeadListRun) -> dict[bytes, set[tuple[str, str, int, int]]]:
    """What each account gives: records, their rows, and whether they get weight."""
    sum_records(run, K, WEIGHT_UNITS, SHARE_UNITS)
    with open_warehouse(run) as engine:
        rows = engine.fetch("own_records").to_pylist()
    found: dict[bytes, set] = {}
    for row in rows:
        given = (row["query"], row["url"], row["n_rows"], row["place"] <= K)
        found.setdefault(row["account"], set()).add(given)
    return found


def test_sums_are_those_of_the_library(root):  # noqa: F811
    """The shares of every record, and the weights but for which records of a person are chosen."""
    run = charged(root, everybody())
    sums = sum_records(run, K, WEIGHT_UNITS, SHARE_UNITS).to_pylist()
    people = [own for person, own in everybody().items() if not person.startswith("client")]
    texts = [
        [(normalise_query(query), normalise_url(url)) for _, query, url in own if url]
        for own in people
    ]
    usable = [[(q, u) if q and u else None for q, u in own] for own in texts]
    names = sorted({record for own in usable for record in own if record})
    queries = sorted({query for query, _ in names})
    urls = sorted({url for _, url in names})
    flat = [record for own in usable for record in own]
    searches = Searches(
        np.array([len(own) for own in usable]),
        np.array([queries.index(r[0]) if r else -1 for r in flat]),
        np.array([urls.index(r[1]) if r else -1 for r in flat]),
    )
    named = HeadList.from_records(
        *np.array([(queries.index(q), urls.index(u)) for q, u in names]).T
    )
    expected = searches.shares(named)
    cells = dict(zip(names, named.record_cells, strict=True))
    assert {(row["query"], row["url"]) for row in sums} == set(names)
    for row in sums:
        assert row["share"] == expected[cells[row["query"], row["url"]]]
    assert sum(row["concentration"] for row in sums) == expected[-1]
    total = searches.weights(K, rng=np.random.default_rng(1)).counts.sum()
    assert sum(row["weight"] for row in sums) == total


def test_nobody_elses_rows_change_what_a_person_gives(root):  # noqa: F811
    """Another order of all rows, and then another person with 200 rows in place of one."""
    new_home(root / "home")
    # Both homes have the same keys: accounts and choices can be compared.
    shutil.copytree(root / "home", root / "again/home")
    first = given_by(charged(root, everybody()))
    changed = everybody() | {"few0": rows_of("few0", 9, 200)}
    second = given_by(charged(root / "again", changed, order=5))
    differing = [account for account in first | second if first.get(account) != second.get(account)]
    assert len(differing) == 1
    assert all(sum(is_given for *_, is_given in own) <= K for own in second.values())


def test_which_records_get_weight_differs_from_person_to_person(root):  # noqa: F811
    same = [(query, url) for query in ("a", "b", "c", "d") for url in ("u", "v")]
    people = {f"p{n}": [(f"p{n}", query, url) for query, url in same] for n in range(120)}
    given = given_by(charged(root, people | CLIENTS))
    chosen = Counter((q, u) for own in given.values() for q, u, _, is_given in own if is_given)
    assert sum(chosen.values()) == 120 * K
    assert len(chosen) == len(same)
    assert max(chosen.values()) < 90, "45 on average; 90 would be 8 standard deviations"


@pytest.fixture
def no_noise(monkeypatch):
    """Everything with weight is named, and sums are exact: what the table holds can be read."""
    monkeypatch.setattr(WeightedFinding, "draw", lambda _, weights: NamedCounts.above(0, weights))
    monkeypatch.setattr(ShareMeasuring, "draw", lambda _, sums: sums)


def test_a_draw_holds_weights_shares_wildcards_and_concentration(root, no_noise):  # noqa: F811
    run = charged(root, everybody())
    table = draw_head_list(run)
    assert table.equals(load_measurement(run, HEADLIST))
    exact = sum_records(run, K, WEIGHT_UNITS, SHARE_UNITS).to_pylist()
    sums = {(row["query"], row["url"]): row for row in exact}
    rows = {(row["query"], row["url"]): row for row in table.to_pylist()}
    named = {record: row for record, row in rows.items() if None not in record}
    assert named.keys() == {record for record, row in sums.items() if row["weight"] > 0}
    for record, row in named.items():
        assert (row["noisy_count"], row["noisy_share"]) == (
            sums[record]["weight"], sums[record]["share"],
        )  # fmt: skip
    for query in {query for query, _ in named}:
        others = [row["share"] for record, row in sums.items()
                  if record[0] == query and record not in named]  # fmt: skip
        assert rows[query, None]["noisy_share"] == sum(others)
        assert rows[query, None]["noisy_count"] is None
    assert rows[None, CONCENTRATION]["noisy_share"] == sum(
        sums[record]["concentration"] for record in named
    )


def test_a_query_that_is_left_out_takes_all_of_its_rows_with_it(root, no_noise):  # noqa: F811
    run = charged(root, everybody())
    table = draw_head_list(run)
    queries = sorted(set(named_records(table)["query"].to_pylist()))
    kept = without(table, queries[:1])
    sizes = {"S": run.group_size("S"), "C": 1}
    whole, part = (Measured.of(params_of(run), sizes, {"S": one}) for one in (table, kept))
    assert part.candidates.listed_queries == queries[1:]
    is_kept = np.isin(whole.candidates.head_list.query_ids, range(1, len(queries)))
    cells = np.repeat(is_kept, whole.candidates.head_list.list_sizes[:-1])
    assert part.draws.measured.tolist() == [
        *whole.draws.measured[:-1][cells].tolist(), whole.draws.measured[-1],
    ]  # fmt: skip


@pytest.mark.parametrize(
    "spoil",
    [
        lambda rows: rows[:-1],
        lambda rows: [*rows, rows[0]],
        lambda rows: [*rows, rows[-1] | {"url": None}],
        lambda rows: [rows[0] | {"noisy_count": None}, *rows[1:]],
        lambda rows: [*rows[:-1], rows[-1] | {"noisy_share": None}],
        lambda rows: [*rows[:-1], rows[-1] | {"noisy_count": 5}],
        lambda rows: [*rows, rows[0] | {"query": "other", "url": None, "noisy_count": None}],
    ],
)
def test_rows_that_no_draw_makes_are_refused(spoil):
    params = BlenderParams(strategy="high-utility", finding="gaussian")
    drawn = [
        {"query": "a", "url": "u", "noisy_count": 9_000, "noisy_share": 90_000},
        {"query": "a", "url": None, "noisy_count": None, "noisy_share": 3},
        {"query": None, "url": CONCENTRATION, "noisy_count": None, "noisy_share": 7},
    ]
    tables = [pa.Table.from_pylist(rows) for rows in (drawn, spoil(drawn))]
    found = Measured.of(params, {"S": 100}, {"S": tables[0]})
    assert found.draws.measured.tolist() == [90_000, 3, 7]
    with pytest.raises((HybridDPError, KeyError, TypeError)):
        Measured.of(params, {"S": 100}, {"S": tables[1]})


def test_what_is_on_no_listed_query_is_on_no_cell():
    sums = pa.table({"query": ["a", "a", "z"], "url": ["u", "v", "u"], "share": [5, 7, 9],
                     "concentration": [1, 2, 4]})  # fmt: skip
    assert shares_on(Listing.of([("a", "u")]), sums).tolist() == [5, 7, 1]
    assert shares_on(Listing.of([]), sums).tolist() == [0]


def test_everybody_who_opted_in_finds_and_measures(root):  # noqa: F811
    run = charged(root, everybody())
    groups = Counter(sealed_groups(run.home, run).values())
    assert groups == {"S": len(FEW) + len(MANY), "C": len(CLIENTS)}
