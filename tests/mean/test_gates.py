"""The gates of means, with Great Expectations itself."""

import pytest

from tasks.gates.quality import GateRefused
from tasks.ledger.rules import Kind
from tasks.products.mean.draws import identify
from tasks.publish.shelf import read_rows
from tasks.release.walk import run_release
from tests.homes import new_home
from tests.mean.support import SECRET_VALUE, request_for, usual_rows, write_numbers, write_roster


def test_a_column_that_is_no_number_stops_a_release_before_anybody_pays(root):
    log = write_numbers(root / "log.csv", [*usual_rows(), *[("7", SECRET_VALUE)] * 100])
    run = identify(request_for(log), new_home(root / "home"))
    with pytest.raises(GateRefused, match="bad_row_share") as refusal:
        run_release(run)
    assert SECRET_VALUE not in str(refusal.value)
    assert not run.state.has(Kind.RESERVED)
    assert run_release(identify(request_for(log, max_bad_row_share=0.2), run.home)).is_dir()


def test_times_in_another_format_are_named(root):
    log = root / "log.csv"
    log.write_text("user,dwell,at\n" + "".join(f"{i},3,1794295032\n" for i in range(50)))
    asked = request_for(log, columns={"person": "user", "time": "at"})
    run = identify(asked, new_home(root / "home"))
    with pytest.raises(GateRefused, match="or the one that --columns names as time") as refusal:
        run_release(run)
    assert "1794295032" not in str(refusal.value)
    assert not run.state.has(Kind.RESERVED)


def test_a_limit_in_another_unit_stops_a_release_before_anybody_pays(root, log):
    run = identify(request_for(log, upper=0.001), new_home(root / "home"))
    with pytest.raises(GateRefused, match="clamped_share"):
        run_release(run)
    assert not run.state.has(Kind.RESERVED)


def test_groups_that_differ_are_withheld_unless_the_operator_knows_why(root):
    """Opt-in people have 10, clients have 0; noise of scales 2.6 and 7 on means of hundreds."""
    people = {str(person): (int(person % 2), "DE") for person in range(900)}
    log = write_numbers(root / "log.csv", [(p, str(10 * o)) for p, (o, _) in people.items()])
    roster = write_roster(root / "roster.csv", people)
    home = new_home(root / "home")
    request = request_for(log, roster=roster)
    with pytest.raises(GateRefused, match="agreement"):
        run_release(identify(request, home))
    assert not list(home.public.rglob("means.parquet"))
    run = identify(request.model_copy(update={"min_agreement": 0.0}), home)
    folder = run_release(run)  # the same draws: nobody pays again
    assert sum(entry.kind is Kind.RESERVED for entry in run.ledger.entries()) == 1
    assert len(read_rows(folder, "means")) == 1
