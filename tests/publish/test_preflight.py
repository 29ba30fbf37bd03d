"""Whatever a release needs is checked before anybody pays; what fails later says what was paid."""

import re
import shutil
from collections import namedtuple

import pytest

import tasks.gates.preflight
from hybriddp.errors import InvalidParameter
from tasks.budget.paid import saying_what_was_paid, what_was_paid
from tasks.budget.reserve import void_reservation
from tasks.gates import suites
from tasks.gates.preflight import can_ask, check_inputs, needed_bytes
from tasks.gates.quality import GateRefused
from tasks.ledger.ledger import Ledger
from tasks.ledger.rules import Kind
from tasks.log.raw.files import BadInput
from tasks.orchestration import tasks as orchestrated
from tasks.products.head_list.run import identify
from tasks.release.step import Step
from tasks.release.walk import run_release
from tasks.verify.signatures import KeyProblem
from tests.clusters import support as clusters
from tests.homes import new_home
from tests.mean import support as means
from tests.publish.shelves import request_of
from tests.release.support import charge
from tests.steps import do
from tests.zealous import support as histograms

EPOCH = "2026-W41"
PRODUCTS = ("search", "zealous", "mean", "kmeans")


@pytest.fixture
def home(root):
    return new_home(root / "home")


@pytest.fixture
def log_of(tmp_path, small_log):
    """Write a log that a product could be made of."""
    write = {
        "search": lambda _: small_log,
        "zealous": lambda path: histograms.popular_log(path / "log.tsv"),
        "mean": lambda path: means.write_numbers(path / "log.csv", means.usual_rows()),
        "kmeans": lambda path: clusters.write_points(path / "log.csv"),
    }
    return lambda product: write[product](tmp_path)


def run_of(product: str, log, home, **settings):
    from tasks.products.clusters import draws as kmeans
    from tasks.products.histograms import draws as zealous
    from tasks.products.mean import draws as mean

    make = {
        "search": lambda: identify(request_of(log, EPOCH, **settings), home),
        "zealous": lambda: zealous.identify(histograms.request_for(log, **settings), home),
        "mean": lambda: mean.identify(means.request_for(log, **settings), home),
        "kmeans": lambda: kmeans.identify(clusters.request_for(log, **settings), home),
    }
    return make[product]()


@pytest.mark.usefixtures("gates_waived")
@pytest.mark.parametrize("product", ["search", "zealous"])
def test_a_wrong_blocklist_is_refused_before_anybody_pays(product, log_of, home, tmp_path):
    run = run_of(product, log_of(product), home, blocklist=tmp_path / "absent.txt")
    with pytest.raises(BadInput, match=r"absent\.txt cannot be read as a blocklist"):
        run_release(run)
    assert not any(e.kind is Kind.RESERVED for e in Ledger(home.ledger).entries())


@pytest.mark.usefixtures("gates_waived")
@pytest.mark.parametrize("product", PRODUCTS)
def test_every_product_checks_its_home_before_anything_else(product, log_of, home, monkeypatch):
    """No room, no key, no shelf, nobody to ask: each is named, with what to do."""
    log = log_of(product)
    run = run_of(product, log, home)
    check_inputs(run)

    shelf = home.shelf(run.request.product, run.request.locale)
    shelf.parent.write_text("not a folder")
    with pytest.raises(BadInput, match="nothing can be written in"):
        check_inputs(run)
    shelf.parent.unlink()

    usage = namedtuple("usage", "free")
    monkeypatch.setattr(tasks.gates.preflight.shutil, "disk_usage", lambda _: usage(60_000_000))
    check_inputs(run)
    monkeypatch.setattr(tasks.gates.preflight.shutil, "disk_usage", lambda _: usage(50_000_000))
    with pytest.raises(BadInput, match=r"50 MB free.*make room"):
        check_inputs(run)
    monkeypatch.undo()

    other = new_home(home.root.parent / "other")
    (home.keys / "signing.key").write_bytes((other.keys / "signing.key").read_bytes())
    with pytest.raises(KeyProblem, match="is not what this home's ledger was written with"):
        check_inputs(run)


@pytest.mark.usefixtures("gates_waived")
@pytest.mark.parametrize("product", PRODUCTS)
def test_a_sign_off_that_nobody_can_give_is_refused_at_once(product, log_of, home):
    run = run_of(product, log_of(product), home, sign_off=True)
    check_inputs(run)
    token = can_ask.set(False)
    try:
        with pytest.raises(BadInput, match="needs a terminal or a deployed run"):
            check_inputs(run)
    finally:
        can_ask.reset(token)


def test_suites_of_what_would_be_published_are_read_before(log_of, home, tmp_path, monkeypatch):
    shutil.copytree(suites.SUITES, tmp_path / "suites")
    monkeypatch.setattr(suites, "SUITES", tmp_path / "suites")
    run = run_of("search", log_of("search"), home)
    check_inputs(run)
    (tmp_path / "suites" / "trends.json").write_text('{"name": "trends"}')
    with pytest.raises(InvalidParameter, match="trends must expect something"):
        check_inputs(run)


@pytest.mark.usefixtures("gates_waived")
def test_reports_of_devices_are_looked_for_before(log_of, home, tmp_path):
    reports = tmp_path / "reports"
    devices = {"clients": "reports", "optin_fraction": None, "everybody_opted_in": True}
    run = run_of("search", log_of("search"), home, **devices, reports=reports)
    for make in (lambda: None, reports.mkdir):
        make()
        with pytest.raises(BadInput, match="cannot be read as reports"):
            check_inputs(run)
    (reports / "one.json").write_text("{}")
    check_inputs(run)


def test_compressed_logs_need_more_room(tmp_path):
    for name, factor in (("a.tsv", 5), ("a.tsv.gz", 15), ("a.parquet", 15)):
        (tmp_path / name).write_bytes(b"x" * 100)
        assert needed_bytes((tmp_path / name,)) == 100 * factor


@pytest.mark.usefixtures("gates_waived")
def test_a_failure_after_the_charge_says_who_paid_and_what_to_do(log_of, home):
    run = run_of("search", log_of("search"), home)
    assert what_was_paid(run) == ""
    charge(run)
    paid = what_was_paid(run)
    for group, terms in run.reservation.groups.items():
        assert f"{terms.members:,} people (epsilon 4, delta" in paid
        assert f"({group})" in paid
    assert f"ledger void {run.release_id}" in paid
    do(run, "draw head list")
    assert "what was drawn is kept, and that is free" in what_was_paid(run)
    with (
        pytest.raises(GateRefused, match=r"^No\. Charged for this release.*free\.$"),
        saying_what_was_paid(run),
    ):
        raise GateRefused("No.")


@pytest.mark.usefixtures("gates_waived")
def test_a_charge_that_was_given_back_is_not_claimed(log_of, home):
    run = charge(run_of("search", log_of("search"), home))
    void_reservation(home, run.release_id)
    assert what_was_paid(run) == ""


def test_every_step_of_a_flow_says_what_was_paid(log_of, home, monkeypatch):
    """Found in one place: the wrapper that makes a task of a step."""
    run = charge(run_of("search", log_of("search"), home))

    def fail(_):
        raise ValueError("a secret search")

    failing = orchestrated.task_of(Step("a step", fail))
    state = failing.fn(orchestrated.Passed(run, "before"))
    assert isinstance(state.data, orchestrated.StepFailed)
    assert re.search(r"ValueError.*Charged for this release", state.message)
