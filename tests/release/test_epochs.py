"""An epoch is a period of time: its rows count, others do not, and it must be over."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

import tasks.products.clusters.draws
import tasks.products.histograms.draws
import tasks.products.mean.draws
from hybriddp.device.package import canonical_json
from hybriddp.errors import InvalidParameter
from tasks.gates.quality import GateRefused
from tasks.ledger.ledger import Ledger
from tasks.ledger.rules import Kind
from tasks.log import ingest
from tasks.log.engine import open_duckdb
from tasks.log.raw.files import BadInput
from tasks.products.clusters.request import KMeansRequest
from tasks.products.head_list.request import ReleaseRequest
from tasks.products.head_list.run import identify
from tasks.products.histograms.request import ZealousRequest
from tasks.products.label_people import epoch_promise, membership_limits
from tasks.products.mean.request import MeanRequest
from tasks.products.numbers import log as number_log
from tasks.products.request import LogColumns
from tasks.release.run import log_source
from tasks.store.keys import Keyring
from tests.homes import steps_of
from tests.release.support import charge, request_for
from tests.rows import reserved

HEADER = "AnonID\tQuery\tQueryTime\tItemRank\tClickURL"
PRODUCTS = {
    "head list": (identify, ingest.ingest, ReleaseRequest, {}),
    "histograms": (tasks.products.histograms.draws.identify, ingest.ingest, ZealousRequest, {}),
    "mean": (
        tasks.products.mean.draws.identify,
        number_log.ingest,
        MeanRequest,
        {"column": "ItemRank", "upper": 9},
    ),
    "clusters": (
        tasks.products.clusters.draws.identify,
        number_log.ingest,
        KMeansRequest,
        {"points": [{"column": "ItemRank", "upper": 9}]},
    ),
}
WEEKS = {"2026-W45": "2026-11-08 23:59:59", "2026-W46": "2026-11-09 00:00:00"}


def line(person, query="news", time=WEEKS["2026-W46"], rank=1):
    return f"{person}\t{query}\t{time}\t{rank}\thttp://{query}.com"


def write(path: Path, lines) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join([HEADER, *lines]) + "\n")
    return path


def week_file(folder: Path, week: str) -> Path:
    """Everybody of a week, half of whom are there in the other one as well."""
    first = 0 if week == "2026-W45" else 10
    rows = [
        line(person, f"{week} {turn}", WEEKS[week], turn)
        for turn in (1, 2)
        for person in range(first, first + 20)
    ]
    return write(folder / f"{week}.tsv", rows)


def loaded(product, log, home, epoch, **settings):
    """Read a log as a product does; return who is a member and with what."""
    find, load, form, usual = PRODUCTS[product]
    run = find(form(log=log, epoch=epoch, **(usual | settings)), home)
    load(run)
    tables = [
        "members",
        "stg_log" if form in (ReleaseRequest, ZealousRequest) else "person_numbers",
    ]
    with open_duckdb(home.warehouse(run.release_id)) as engine:
        return [
            sorted(repr(row) for row in engine.fetch(table).to_pylist() if row["person"])
            for table in tables
        ]


@pytest.mark.parametrize("product", PRODUCTS)
def test_of_a_folder_with_two_weeks_only_the_epochs_week_counts(home, root, product):
    for week in WEEKS:
        alone = loaded(product, week_file(root / week, week), home, week)
        week_file(root / "incoming", week)
        assert len(alone[0]) == 20
    for week in WEEKS:
        together = loaded(product, root / "incoming", home, week)
        assert together == loaded(product, root / week, home, week)


@pytest.mark.parametrize("product", PRODUCTS)
def test_a_log_without_times_counts_whole_and_its_label_says_so(home, root, product):
    log = week_file(root, "2026-W45")
    columns = {"time": None}
    kinds = {"histograms": ("queries",)} if product == "histograms" else {}
    members, _ = loaded(product, log, home, "2026-W46", columns=columns, **kinds)
    assert len(members) == 20
    _, _, form, usual = PRODUCTS[product]
    request = form(log=log, epoch="2026-W46", columns=columns, **(usual | kinds))
    (said,) = epoch_promise(request.parameters())
    assert "nobody checked that its rows belong to this epoch" in said
    timed = form(log=log, epoch="2026-W46", **(usual | kinds)).parameters()
    assert "Only rows whose time lies in this epoch" in epoch_promise(timed)[0]
    assert "being in the log of this epoch is not protected" in membership_limits(timed)[0]


@pytest.mark.parametrize("product", PRODUCTS)
def test_opting_in_by_a_column_is_said_to_show_in_the_sizes_of_groups(product):
    _, _, form, usual = PRODUCTS[product]
    asked = usual | {"log": "log.tsv", "epoch": "2026-W46"}
    by_column = form(columns={"optin": "in"}, **asked).parameters()
    assert "depend on what people's rows say" in " ".join(membership_limits(by_column))
    by_roster = form(roster="roster.csv", **asked).parameters()
    assert membership_limits(by_roster) == []


def test_one_row_of_1970_stops_nothing_and_years_of_other_weeks_do_not_either(home, root):
    rows = [line(person, f"q{person % 3}") for person in range(50)]
    odd = [line(7, "old", "1970-01-01 00:00:00"), line("new", "old", "2090-01-01")]
    run = identify(request_for(write(root / "log.tsv", [*rows, *odd]), columns=LogColumns()), home)
    ingest.ingest(run)
    ingest.judge_log(run)
    others = [line(person, "old", WEEKS["2026-W45"]) for person in range(40_000)]
    broken = ["of no epoch"] * 100  # more than the week has rows, and few of all
    log = write(root / "years.tsv", [*rows, *others, *broken])
    run = identify(request_for(log, columns=LogColumns(), epoch="2026-W46"), home)
    ingest.ingest(run)
    ingest.judge_log(run)


def test_a_log_of_another_time_is_refused(home, root):
    log = write(root / "log.tsv", [line(p, time="2006-03-01 00:00:00") for p in range(50)])
    run = identify(request_for(log, columns=LogColumns()), home)
    ingest.ingest(run)
    with pytest.raises(GateRefused, match="outside_epoch_share"):
        ingest.judge_log(run)


@pytest.mark.parametrize("product", PRODUCTS)
@pytest.mark.parametrize(("epoch", "ends"), [("2030-W01", "2030-01-07"), ("2999-12", "3000-01-01")])
def test_an_epoch_that_is_not_over_is_refused_before_anything_is_read(home, product, epoch, ends):
    find, _, form, usual = PRODUCTS[product]
    with pytest.raises(InvalidParameter, match=f"{epoch}, which ends on {ends} at 00:00 UTC"):
        find(form(log="there-is-no-log.tsv", epoch=epoch, **usual), home)
    assert steps_of(home) == []


def test_a_release_of_an_epoch_that_is_not_over_is_still_found(home, root, monkeypatch):
    """Version 0.1.0 made such releases; they are replayed, and nothing new is drawn for them."""
    log = write(root / "log.tsv", [line(person, f"q{person % 3}") for person in range(600)])
    with monkeypatch.context() as later:
        later.setattr(Ledger, "now", staticmethod(lambda: datetime(2031, 1, 1, tzinfo=UTC)))
        run = charge(identify(request_for(log, epoch="2030-W01"), home))
    assert identify(run.request, home).release_id == run.release_id
    with pytest.raises(InvalidParameter, match="2030-W01, which ends on"):
        identify(request_for(log, epoch="2030-W01", epsilon=1.0, pay_again=True), home)


def first_id(request, home, columns):
    """Return a release's id as version 0.1.0 computed it."""
    parameters = request.measurement_parameters()
    del parameters["times"]
    identity = {
        "product": request.product,
        "epoch": request.epoch,
        "locale": request.locale,
        "parameters": parameters,
        "columns": columns,
        "log": log_source(request).digest().hex(),
        "roster": None,
    }
    return Keyring.open(home).release.digest(canonical_json(identity))[:32]


@pytest.mark.parametrize("product", PRODUCTS)
def test_a_release_of_version_0_1_0_is_found_by_its_own_id(home, root, product):
    find, _, form, usual = PRODUCTS[product]
    request = form(log=week_file(root, "2026-W46"), epoch="2026-W46", **usual)
    columns = {"person": "AnonID", "optin": None}
    if form in (ReleaseRequest, ZealousRequest):
        columns |= {"query": "Query", "time": "QueryTime", "url": "ClickURL"}
    first = first_id(request, home, columns)
    new = find(request, home).release_id
    assert new != first
    slot = {"product": request.product, "epoch": request.epoch, "locale": request.locale}
    Ledger(home.ledger).append(Kind.RESERVED, first, 1, reserved((), **slot))
    assert find(request, home).release_id == first
    # Whoever made the release again since then gets the newer one.
    Ledger(home.ledger).append(Kind.RESERVED, new, 1, reserved((), **slot))
    assert find(request, home).release_id == new


def test_a_mean_of_version_0_1_0_is_found_though_its_log_has_no_times(home, root):
    log = root / "log.csv"
    log.write_text("AnonID,dwell\n1,2\n")
    request = MeanRequest(log=log, epoch="2026-W46", column="dwell", upper=9)
    with pytest.raises(
        BadInput, match=r"lacks the column QueryTime.*time= there for a log without"
    ):
        tasks.products.mean.draws.identify(request, home)
    untimed = request.model_copy(
        update={"columns": request.columns.model_copy(update={"time": None})}
    )
    old = first_id(untimed, home, {"person": "AnonID", "optin": None})
    slot = {"product": "mean", "epoch": "2026-W46", "locale": "all"}
    Ledger(home.ledger).append(Kind.RESERVED, old, 1, reserved((), **slot))
    assert tasks.products.mean.draws.identify(request, home).release_id == old
    assert tasks.products.mean.draws.identify(untimed, home).release_id == old
