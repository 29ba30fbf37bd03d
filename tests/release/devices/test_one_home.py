"""One human has one budget: devices report in a home, or people who did not opt in are charged."""

from pathlib import Path

import pyarrow as pa
import pytest

import tasks.budget.reserve
from tasks.budget.reserve import reserve, void_reservation
from tasks.gates.preflight import check_inputs
from tasks.ledger.ledger import Ledger
from tasks.ledger.rules import Entry, Kind
from tasks.log.engine import open_duckdb
from tasks.products.clusters.draws import KMeansRun
from tasks.products.head_list.run import HeadListRun
from tasks.products.histograms.draws import ZealousRun
from tasks.products.mean.draws import MeanRun
from tasks.products.registry import product_of
from tasks.release.refusals import BudgetRefused
from tasks.release.run import LogRun
from tasks.store.home import Home
from tests.clusters.support import request_for as clusters_request
from tests.mean.support import request_for as mean_request
from tests.release.support import request_by_column, request_for
from tests.zealous.support import request_for as histograms_request

LOG = Path("nowhere.tsv")
REPORTS = {"clients": "reports", "optin_fraction": None, "epsilon": 1.0}
BY_COLUMN = {"columns": {"person": "user", "optin": "optin", "time": None}, "epsilon": 1.0}
DEVICES = {
    "devices": (HeadListRun, request_by_column(LOG, **REPORTS)),
    "devices-all": (HeadListRun, request_for(LOG, everybody_opted_in=True, **REPORTS)),
    "devices-paper": (HeadListRun, request_by_column(LOG, roster=LOG, strategy="paper", **REPORTS)),
}
# They charge people who did not opt in, though most of them know by a column who did.
OTHERS = {
    "search": (HeadListRun, request_for(LOG, epsilon=1.0)),
    "search-named": (HeadListRun, request_by_column(LOG, epsilon=1.0)),
    "search-paper": (
        HeadListRun,
        request_by_column(LOG, epsilon=1.0, strategy="paper", roster=LOG),
    ),
    "mean": (MeanRun, mean_request(LOG, **BY_COLUMN)),
    "clusters": (KMeansRun, clusters_request(LOG, **BY_COLUMN)),
    "histograms": (ZealousRun, histograms_request(LOG, epsilon=1.0)),
}
# They charge nobody but opt-in people.
NAMED = {
    "by-column": (ZealousRun, histograms_request(LOG, columns={"optin": "optin"}, epsilon=1.0)),
    "by-roster": (ZealousRun, histograms_request(LOG, roster=LOG, epsilon=1.0)),
}
ALL = DEVICES | OTHERS | NAMED


def run_of(home: Home, name: str) -> LogRun:
    """Put people of their own into each group of a release, without a log."""
    kind, request = ALL[name]
    request = request.model_copy(update={"product": name})
    run = kind(home, f"{list(ALL).index(name):032x}", 1, request)
    people = [
        (bytes([list(ALL).index(name), side, number]).ljust(16), group)
        for side, together in enumerate(
            product_of(request.measurement_parameters()).people_of(request.groups_in_the_log)
        )
        for number in range(60)
        for group in together
    ]
    accounts, groups = zip(*people, strict=True)
    with open_duckdb(home.warehouse(run.release_id)) as engine:
        given = {"account": pa.array(accounts, pa.binary()), "cohort": pa.array(groups)}
        engine.put("given", pa.table(given))
        engine._connection.execute("create or replace table candidates as select * from given")
    return run


def reserve_all(home: Home, *names: str) -> None:
    for name in names:
        reserve(run_of(home, name))


def reserved(home: Home) -> list[Entry]:
    return [entry for entry in Ledger(home.ledger).entries() if entry.kind is Kind.RESERVED]


def assert_refused(home: Home, new: str, standing: str) -> None:
    """See that nobody is charged, and that the words name what is in the way and what to do."""
    run, rows = run_of(home, new), reserved(home)
    sealed = sorted(home.participation.iterdir())
    for act in (reserve, check_inputs):  # before the log is read, and when it counts
        with pytest.raises(BudgetRefused) as caught:
            act(run)
        words = str(caught.value)
        assert f"release {run_of(home, standing).release_id} of this home" in words
        assert f"(product {standing}, epoch 2026-W46)" in words
        assert "two budgets that do not know each other" in words
        assert "by a roster or a column, with no clients in the log" in words
        assert words.endswith("Nobody was charged.")
    assert reserved(home) == rows
    assert sorted(home.participation.iterdir()) == sealed


@pytest.mark.parametrize("other", OTHERS)
def test_where_devices_report_nobody_is_charged_who_did_not_opt_in(home, other):
    reserve_all(home, "devices")
    assert_refused(home, other, standing="devices")


@pytest.mark.parametrize("other", OTHERS)
def test_where_people_were_charged_who_did_not_opt_in_no_device_reports(home, other):
    reserve_all(home, other)
    for devices in DEVICES:
        assert_refused(home, devices, standing=other)


def test_releases_of_one_kind_and_of_opt_in_people_alone_stand_together(home, root):
    reserve_all(home, "by-column", *DEVICES, "by-roster")
    other_home = Home.create(root / "other")
    reserve_all(other_home, "by-roster", *OTHERS, "by-column")
    assert (len(reserved(home)), len(reserved(other_home))) == (5, 8)


@pytest.mark.parametrize(("first", "second"), [("devices", "mean"), ("histograms", "devices-all")])
def test_what_was_given_back_is_not_in_the_way(home, first, second):
    reserve_all(home, first)
    assert_refused(home, second, standing=first)
    void_reservation(home, run_of(home, first).release_id)
    reserve_all(home, second)


@pytest.mark.parametrize(("first", "second"), [("devices", "clusters"), ("search", "devices")])
def test_of_two_that_decide_at_the_same_time_one_is_refused(home, monkeypatch, first, second):
    """The other one is charged between a decision and its row."""
    overtaken, seal = run_of(home, second), tasks.budget.reserve.seal

    def seal_late(*arguments) -> str:
        monkeypatch.setattr(tasks.budget.reserve, "seal", seal)
        digest = seal(*arguments)
        reserve_all(home, first)
        return digest

    monkeypatch.setattr(tasks.budget.reserve, "seal", seal_late)
    with pytest.raises(BudgetRefused, match=f"product {first}, "):
        reserve(overtaken)
    assert [row.payload.product for row in reserved(home)] == [first]


def test_a_home_of_version_0_1_0_with_both_goes_on_and_adds_neither(home, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(tasks.budget.reserve, "require_one_budget", lambda *_: None)
        reserve_all(home, "devices", "mean")
    rows = reserved(home)
    reserve_all(home, "devices", "mean")
    assert reserved(home) == rows
    assert_refused(home, "devices-all", standing="mean")
    assert_refused(home, "histograms", standing="devices")
    reserve_all(home, "by-column")
