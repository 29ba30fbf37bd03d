"""Releases of clusters from their log to their files."""

import json

import pytest
from pydantic import ValidationError

from tasks.budget.reserve import reserve
from tasks.ledger.rules import Kind
from tasks.log.engine import open_duckdb
from tasks.products.clusters import ANSWERS, POINTS
from tasks.products.clusters.draws import identify
from tasks.products.clusters.processing import parameters_of
from tasks.products.numbers.log import choose_people, cohort_values, ingest
from tasks.publish.shelf import read_rows
from tasks.release.refusals import BadInput
from tasks.release.reprocess import ReprocessRequest, run_reprocess
from tasks.release.walk import leave_working_copy, run_release
from tests.clusters.support import CLOUDS, UPPERS, request_for
from tests.publish.proposals import require_a_notice_only, require_whole
from tests.release.support import files_below, spent_by_account


def test_clusters_are_the_clouds_the_largest_first(original):
    """Counts have noise of scale 2 among thousands, so centres are off by far less than a tenth."""
    folder = original.home.shelf("clusters", "all") / original.release_id
    shares, centres = read_rows(folder, "clusters"), read_rows(folder, "centres")
    assert [row["cluster"] for row in shares] == [1, 2, 3]
    assert shares[0]["share"] == pytest.approx(0.5, abs=0.1)
    found = {
        cluster: tuple(row["centre"] for row in centres if row["cluster"] == cluster)
        for cluster in (1, 2, 3)
    }
    for x, y, _ in CLOUDS:
        nearest = min(abs(a - x) / UPPERS[0] + abs(b - y) / UPPERS[1] for a, b in found.values())
        assert nearest < 0.1
    assert found[1] == pytest.approx(CLOUDS[0][:2], rel=0.2)
    assert {row["column"] for row in centres} == {"visits", "seconds"}


def test_everybody_pays_epsilon_once_and_in_one_group(original):
    groups = original.reservation.groups
    assert sum(groups[group].members for group in (POINTS, ANSWERS)) == 4_000
    assert set(spent_by_account(original.home).values()) == {(12 * 10**9, 0)}
    started = [e for e in original.ledger.entries() if e.kind is Kind.DRAW_STARTED]
    assert [entry.draw for entry in started] == [POINTS, ANSWERS]


def test_points_are_the_columns_of_the_sealed_people_in_one_order(home, log):
    run = identify(request_for(log), home)
    ingest(run)
    choose_people(run)
    reserve(run)
    values = cohort_values(run, POINTS).values
    assert len(values) == run.group_size(POINTS)
    # A person's coordinates stay together: nobody is between the clouds.
    assert all(
        min(abs(a - x) / 40 + abs(b - y) / 400 for x, y, _ in CLOUDS) < 0.3 for a, b in values
    )


def test_a_release_that_goes_on_is_drawn_from_all_who_paid_or_not_at_all(home, log):
    """Its copy of the log is gone, and is made again under another setting, or from other rows."""
    run = identify(request_for(log), home)
    ingest(run)
    choose_people(run)
    reserve(run)
    leave_working_copy(run)
    home.drop_warehouses()
    later = identify(request_for(log, min_group_size=5_000), home)
    assert later.release_id == run.release_id
    ingest(later)
    choose_people(later)
    assert len(cohort_values(later, POINTS).values) == run.group_size(POINTS)
    with open_duckdb(home.warehouse(run.release_id)) as engine:
        engine._connection.execute("delete from candidates where rowid = 0")
    with pytest.raises(BadInput, match=r"do not hold everybody who was charged.*Nothing was drawn"):
        cohort_values(later, POINTS)


def test_run_again_it_is_the_same_for_free(run, folder, gates_waived):
    before, entries = files_below(folder), run.ledger.entries()
    assert run_release(identify(run.request, run.home)) == folder
    assert files_below(folder) == before
    assert run.ledger.entries() == entries


def test_reprocessing_rounds_again_and_pays_nothing(run, folder, gates_waived):
    revised = run_reprocess(ReprocessRequest(release_id=run.release_id, decimals=1), run.home)
    rows = zip(read_rows(folder, "centres"), read_rows(revised, "centres"), strict=True)
    assert all(abs(old["centre"] - new["centre"]) <= 0.0501 for old, new in rows)
    assert sum(entry.kind is Kind.DRAWN for entry in run.ledger.entries()) == 2


def test_label_states_the_promise_and_what_errors_leave_out(folder):
    label = (folder / "label.md").read_text()
    noise = json.loads((folder / "manifest.json").read_bytes())["noise"]
    assert "| the curator | 12 | 0 |" in label
    assert "| the curator (simulated) | 12 | 0 |" in label
    rule = "the mean of their rows (each at most 1,024 times the limit)"
    assert f"- seconds: {rule}, 0 if there is none, between 0 and 400" in label
    assert "all 4 iterations" in label
    assert "is not in them" in label
    assert noise["sums_scale"] == "2"  # 2 (d+1) tau/epsilon people
    assert noise["report_scale"] in label


def test_whether_lies_are_undone_decides_what_is_measured(home, log, original):
    """Centres decide who is asked about what, so it is no setting of post-processing."""
    told = request_for(log, debias=False)
    assert identify(told, home).release_id != identify(request_for(log), home).release_id
    assert not told.parameters().design.mechanism.tables.debias
    assert parameters_of(original).design.mechanism.tables.debias


@pytest.mark.parametrize(
    ("settings", "fault"),
    [
        ({"points": []}, "at least 1"),
        ({"points": [{"column": "a", "upper": 1}] * 2}, "each column once"),
        ({"points": [{"column": "a", "upper": -1}]}, "greater than or equal"),
        ({"n_clusters": 0}, "greater than or equal to 1"),
        ({"epsilon": 0}, "greater than 0"),
        ({"by": "country"}, "Extra inputs"),
    ],
)
def test_settings_that_do_not_fit_are_refused_in_words(log, settings, fault):
    with pytest.raises(ValidationError, match=fault):
        request_for(log, **settings)


def test_whoever_signs_off_sees_all_and_a_withdrawal_leaves_a_notice_only(run, folder):
    require_whole(run, folder)
    require_a_notice_only(run, folder)
