"""Releases of means from their log to their files."""

import hashlib
import json
import logging

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hybriddp.mean.estimation import estimate_means
from tasks.ledger.rules import Kind
from tasks.products.mean import NUMBERS, SUMS
from tasks.products.mean.draws import identify
from tasks.products.mean.processing import parameters_of
from tasks.products.mean.tables import build_table, by_key
from tasks.publish.shelf import read_rows
from tasks.release.reprocess import ReprocessRequest, run_reprocess
from tasks.release.walk import run_release
from tests.groups import FILES
from tests.homes import new_home
from tests.mean.support import (
    COUNTRIES,
    SECRET_PERSON,
    SECRET_VALUE,
    measurements_of,
    request_for,
    usual_people,
    usual_rows,
    write_numbers,
)
from tests.publish.proposals import require_a_notice_only, require_whole
from tests.release.support import files_below


def test_means_are_near_the_truth_and_inside_their_intervals(usual, one_number):
    """Within ten stated standard errors: a chance below 1e-6, were all noise one Laplace draw."""
    for run, keys in ((usual, COUNTRIES), (one_number, ["all"])):
        rows = read_rows(run.home.shelf("mean", "all") / run.release_id, "means")
        assert [row["key"] for row in rows] == list(keys)
        for row in rows:
            margin = (row["ci_high"] - row["ci_low"]) / 2
            assert abs(row["mean"] - 4) < 5 * margin
            assert margin < 2
    by_country = read_rows(usual.home.shelf("mean", "all") / usual.release_id, "means")
    assert {(row["optin_people"], row["clients"]) for row in by_country} == {(60, 240)}


def test_run_again_it_is_the_same_for_free(run, folder, gates_waived):
    before, entries = files_below(folder), run.ledger.entries()
    assert run_release(identify(run.request, run.home)) == folder
    assert files_below(folder) == before
    assert run.ledger.entries() == entries


def test_reprocessing_rounds_again_and_pays_nothing(run, folder, gates_waived):
    request = ReprocessRequest(release_id=run.release_id, decimals=1)
    revised = run_reprocess(request, run.home)
    assert revised.name == f"{run.release_id}.r2"
    for old, new in zip(read_rows(folder, "means"), read_rows(revised, "means"), strict=True):
        assert new["mean"] == pytest.approx(old["mean"], abs=0.0501)
        assert new["key"] == old["key"]
    kinds = [entry.kind for entry in run.ledger.entries()]
    assert kinds.count(Kind.RESERVED) == 1
    assert kinds.count(Kind.DRAWN) == len(run.groups)


def test_nothing_private_leaves_its_zone(log, root, caplog, capfd, gates_waived):
    home = new_home(root / "home")
    with caplog.at_level(logging.DEBUG):
        run_release(identify(request_for(log), home))
    out, err = capfd.readouterr()
    said = [*files_below(home.public).values(), *files_below(home.measurements).values()]
    said += [caplog.text.encode(), out.encode(), err.encode()]
    for secret in (SECRET_PERSON, SECRET_VALUE, "3.25"):
        assert not any(secret.encode() in data for data in said)
    noted = list(home.quality.rglob("clamped_*.json"))
    assert len(noted) == 3
    for path in noted:
        assert b'"clamped": 0' in path.read_bytes()
        assert path.stat().st_mode & 0o077 == 0
    assert not list(home.warehouses.iterdir())


def test_numbers_outside_are_clamped_and_counted_in_the_private_zone(root, gates_waived):
    rows = [(str(person), "1e6" if person < 90 else "-3") for person in range(900)]
    home = new_home(root / "home")
    run = identify(request_for(write_numbers(root / "log.csv", rows)), home)
    [row] = read_rows(run_release(run), "means")
    assert abs(row["mean"] - 1) < 1.5  # nine tenths count as 0, one tenth as 10
    noted = [json.loads(path.read_text()) for path in home.quality.rglob("clamped_*.json")]
    assert [note["clamped"] for note in noted] == [note["people"] for note in noted]


def test_a_parquet_log_may_hold_floats(root, gates_waived):
    people, numbers = zip(*usual_rows()[:-2], strict=True)
    table = pa.table({"user": people, "dwell": [float(number) for number in numbers]})
    pq.write_table(table, root / "log.parquet")
    run = identify(request_for(root / "log.parquet"), new_home(root / "home"))
    [row] = read_rows(run_release(run), "means")
    assert abs(row["mean"] - 4) < 1.5


def test_a_group_that_nobody_is_in_leaves_the_mean_to_the_other(root, log, gates_waived):
    """By country, where all of one opted in and none of another."""
    people = {p: (int(c == "DE"), c) for p, (_, c) in usual_people().items() if c != "US"}
    roster = root / "roster.csv"
    lines = [f"{person},{optin},{country}" for person, (optin, country) in people.items()]
    roster.write_text("\n".join(["person,optin,country", *lines]) + "\n")
    for number, settings in enumerate(({}, {"one_number": True})):
        request = request_for(log, roster=roster, by="country", product=f"p{number}", **settings)
        run = identify(request, new_home(root / "home"))
        folder = run_release(run)
        rows = read_rows(folder, "means")
        assert [(r["optin_people"], r["clients"]) for r in rows] == [(300, 0), (0, 300)]
        assert all(r["ci_low"] <= r["mean"] <= r["ci_high"] for r in rows)
    second = json.loads((folder / "manifest.json").read_bytes())["second_guarantee"]
    assert {row["epsilon_optin"] for row in second} == {"4.0000"}
    assert {row["epsilon_clients"] for row in second} == {"4.0000"}


def test_one_number_is_all_that_a_release_shows_of_both_groups(one_number):
    """Sums that differ, but not in the noisy sum of votes, give the same bytes."""
    design, measured = parameters_of(one_number).design, measurements_of(one_number)
    [sums], [reports] = measured[SUMS].to_pylist(), measured[NUMBERS].to_pylist()
    ballot = design.ballot(sums["n_people"], reports["n_reports"])
    assert ballot.votes > 1

    def table_of(tables: dict[str, pa.Table]) -> pa.Table:
        return build_table(estimate_means(design, by_key(tables)).means, 12)

    def published(moved: int, spread: float) -> pa.Table:
        other = {
            SUMS: pa.Table.from_pylist([{**sums, "noisy_sum": sums["noisy_sum"] + moved}]),
            NUMBERS: pa.Table.from_pylist(
                [{**reports, "power_1": reports["power_1"] - moved * ballot.votes}
                 | {f"power_{power}": reports[f"power_{power}"] * spread for power in (2, 3, 4)}]
            ),
        }  # fmt: skip
        return table_of(other)

    assert published(12_345, 1.5).equals(published(0, 1.0))
    # How far the groups are apart would show more.
    found = estimate_means(design, by_key(measured))
    assert [of.p_value for of in found.agreements] == [None]
    unlike = {**measured, SUMS: pa.Table.from_pylist([{**sums, "noisy_sum": 0}])}
    assert not table_of(unlike).equals(published(0, 1.0))


def test_published_hashes_do_not_give_measurements_away(one_number):
    """Whoever guesses a measurement right cannot see that they did."""
    folder = one_number.home.shelf("mean", "all") / one_number.release_id
    manifest = json.loads((folder / "manifest.json").read_bytes())
    for group, table in measurements_of(one_number).items():
        sink = pa.BufferOutputStream()
        pq.write_table(table.replace_schema_metadata(None), sink)
        guessed = hashlib.sha256(sink.getvalue()).hexdigest()
        assert guessed != manifest["measurements"][group]
        assert len(table.schema.metadata[b"salt"]) == 64
    assert not set(FILES.values()) & {path.name for path in folder.iterdir()}


def test_whoever_signs_off_sees_all_and_a_withdrawal_leaves_a_notice_only(run, folder):
    require_whole(run, folder)
    require_a_notice_only(run, folder)
