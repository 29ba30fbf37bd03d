"""The same release again costs nothing and is the same, byte for byte."""

import shutil

import pytest

from hybriddp.blender.finding import HeadListMechanism
from hybriddp.blender.optin import HistogramMechanism
from hybriddp.randomizers.one_stage import SubsetMechanism
from hybriddp.randomizers.two_stage import ClientMechanism
from tasks.budget.reserve import void_reservation
from tasks.ledger.ledger import Ledger, LedgerCorrupt
from tasks.ledger.rules import Kind
from tasks.products.head_list.run import identify
from tasks.publish.publish import revise
from tasks.release.refusals import BadInput, BudgetRefused
from tasks.release.reprocess import ReprocessRequest, run_reprocess
from tasks.release.walk import run_release
from tests.groups import FILES, GROUPS
from tests.homes import steps_of
from tests.release.support import charge, files_below, request_for, reserve_release

pytestmark = pytest.mark.usefixtures("gates_waived")


def release(request, home):
    return run_release(identify(request, home))


@pytest.fixture
def published(log, published_home):
    """A release that was published, its folder and everything public."""
    [manifest] = published_home.public.glob("search/all/*/manifest.json")
    return request_for(log), manifest.parent, files_below(published_home.public)


def test_the_same_release_again_draws_nothing_and_charges_nothing(
    published, published_home, monkeypatch
):
    request, folder, public = published
    rows = Ledger(published_home.ledger).entries()
    measured = files_below(published_home.measurements)
    for mechanism in (HeadListMechanism, HistogramMechanism, ClientMechanism, SubsetMechanism):
        monkeypatch.setattr(mechanism, "draw", None)  # calling it would fail
    assert release(request, published_home) == folder
    assert Ledger(published_home.ledger).entries() == rows
    assert files_below(published_home.public) == public
    assert files_below(published_home.measurements) == measured


def test_what_was_derived_or_published_is_made_again_with_the_same_bytes(published, published_home):
    request, folder, public = published
    measured = files_below(published_home.measurements)
    for lost in (
        next(published_home.measurements.glob("*/*/derived")),
        folder,
        published_home.public,
    ):
        shutil.rmtree(lost)
        assert release(request, published_home) == folder
        assert files_below(published_home.public) == public
        assert files_below(published_home.measurements) == measured


def test_a_public_file_that_somebody_changed_is_not_passed_over(published, published_home):
    request, folder, _ = published
    (folder / "trends.jsonl").write_text("{}")
    with pytest.raises(LedgerCorrupt, match="is not what these measurements"):
        release(request, published_home)


@pytest.mark.parametrize("group", GROUPS)
def test_a_changed_or_lost_measurement_is_refused_and_never_drawn_again(
    published, published_home, group
):
    request, folder, public = published
    [path] = published_home.measurements.glob(f"*/*/{FILES[group]}")
    rows, data = Ledger(published_home.ledger).entries(), path.read_bytes()
    for change in (lambda: path.write_bytes(data[:-1] + b"?"), path.unlink):
        change()
        with pytest.raises(LedgerCorrupt, match="cannot be drawn again"):
            release(request, published_home)
    assert Ledger(published_home.ledger).entries() == rows
    path.write_bytes(data)
    assert release(request, published_home) == folder
    assert files_below(published_home.public) == public


@pytest.mark.parametrize("settings", [{"epsilon": 2.0}, {"max_head_size": 2}, {"rotation": 2}])
def test_other_parameters_for_the_same_epoch_are_paid_for_only_if_asked(log, home, settings):
    first = reserve_release(request_for(log), home)
    with pytest.raises(BudgetRefused, match=f"release {first.release_id} already.*--pay-again"):
        identify(request_for(log, **settings), home)
    again = reserve_release(request_for(log, pay_again=True, **settings), home)
    assert again.release_id != first.release_id
    for place in ({"epoch": "2026-W45"}, {"product": "trends"}, {"locale": "en-US"}):
        assert identify(request_for(log, **settings, **place), home).attempt == 1


def test_another_release_that_got_in_between_is_found_when_it_is_charged(log, home):
    """Both were identified while the epoch was free; only one of them is paid for."""
    first = identify(request_for(log), home)
    reserve_release(request_for(log, epsilon=2.0), home)
    with pytest.raises(BudgetRefused, match="--pay-again"):
        charge(first)
    assert [e.kind for e in steps_of(home)] == [Kind.RESERVED]


def test_a_voided_release_does_not_come_back_beside_another_one_unasked(log, home):
    first = reserve_release(request_for(log), home)
    void_reservation(home, first.release_id)
    reserve_release(request_for(log, epsilon=2.0), home)
    with pytest.raises(BudgetRefused, match="--pay-again"):
        reserve_release(request_for(log), home)


def test_settings_of_post_processing_are_free_and_keep_the_release(published, log, published_home):
    request, folder, public = published
    other = request_for(log, decimals=3, valid_days=30, max_bytes=1_000_000, min_group_size=5)
    run = identify(other, published_home)
    assert run.release_id == identify(request, published_home).release_id
    assert run_release(run) == folder, "what is published stays as it was"
    assert files_below(published_home.public) == public
    revised = revise(run, other.settings)
    assert revised.name == f"{folder.name}.r2"
    charges = [e for e in Ledger(published_home.ledger).entries() if e.kind is Kind.RESERVED]
    assert len(charges) == 1
    # The first publication keeps its bytes beside its revision.
    kept = files_below(published_home.public)
    assert {path: kept[path] for path in public if "latest" not in path} == {
        path: data for path, data in public.items() if "latest" not in path
    }


def test_a_replay_does_not_pass_over_a_blocklist_that_holds_what_is_published(
    published, log, published_home, root
):
    """Refused with the remedy; once that was done, the same request is a replay again."""
    request, folder, public = published
    rows, path = Ledger(published_home.ledger).entries(), root / "blocked.txt"
    path.write_text("never searched\n")
    asked = request_for(log, blocklist=path)
    assert release(asked, published_home) == folder, "nothing of it is published"
    path.write_text("NEWS\n")
    release_id = folder.name
    with pytest.raises(BadInput, match=rf"reprocess {release_id} --blocklist .*blocked\.txt") as no:
        release(asked, published_home)
    assert "news" not in str(no.value), "it says nothing of what is blocked"
    assert files_below(published_home.public) == public
    assert Ledger(published_home.ledger).entries() == rows
    revised = run_reprocess(ReprocessRequest(release_id=release_id, blocklist=path), published_home)
    for again in (asked, request):
        assert release(again, published_home) == revised
    assert not any(b"news" in data for data in files_below(published_home.public).values())


def test_a_restored_ledger_that_forgot_a_draw_does_not_draw_again(log, home):
    """Reserved in the backup, drawn and published since: the charge is there, the draw is not."""
    run = reserve_release(request_for(log), home)
    backup = home.ledger.read_bytes()
    run_release(run)
    home.ledger.write_bytes(backup)
    with pytest.raises(LedgerCorrupt, match="forgotten spending"):
        release(request_for(log), home)
    shutil.rmtree(home.public / "search")  # nothing public is left to tell
    with pytest.raises(LedgerCorrupt, match="forgotten spending"):
        release(request_for(log), home)
