"""Lists that are empty, or have collapsed, need a plan's or a person's word."""

import re
import shutil

import pytest

import flows.walking.sign_off
from flows.walking.sign_off import wait_for_sign_off
from hybriddp.blender.mechanisms import finding_mechanism
from hybriddp.params import GAUSSIAN, HIGH_UTILITY, BlenderParams
from hybriddp.planning.forecast import expected_named
from tasks.gates import forecast
from tasks.gates.collapse import doubt_of, losses
from tasks.gates.lists import weights_of
from tasks.gates.quality import GateRefused
from tasks.ledger.ledger import Ledger
from tasks.ledger.rules import Kind
from tasks.products.head_list import HEADLIST
from tasks.products.head_list.forecast import forecast_of
from tasks.products.histograms.draws import identify as identify_histograms
from tasks.release.reprocess import ReprocessRequest, run_reprocess
from tasks.release.walk import run_release
from tests.homes import new_home
from tests.publish.shelves import LATER, latest, publish_epoch, run_of, shelf_of
from tests.release.support import QUERIES, write_log
from tests.zealous import support as histograms

pytestmark = pytest.mark.usefixtures("gates_waived")
NEXT = "2026-W42"


@pytest.fixture
def empty_log(tmp_path):
    """A log of which nothing can be listed, whatever the noise is: nobody clicks on anything."""
    log = write_log(tmp_path / "unclicked.tsv", map(str, range(600)))
    log.write_text(re.sub("http://[a-z.]+", "", log.read_text()))
    return log


def charges(home) -> int:
    return sum(e.kind is Kind.RESERVED for e in Ledger(home.ledger).entries())


def test_the_plan_expects_as_many_records_as_the_readme_shows():
    """9,922 people find 53 records there; the noise moves that by a few, and some search more."""
    params = BlenderParams(4, 1e-5, strategy=HIGH_UTILITY, finding=GAUSSIAN, max_records_optin=20)
    mechanism = finding_mechanism(params)
    n_each, units = mechanism.given(10)
    expected = expected_named(mechanism, n_each * 9_922, forecast.profile_law(), units)
    assert 40 < expected < 75


def test_a_release_of_a_52nd_of_the_people_is_refused(tmp_path):
    """200,000 people, 5 % opted in, each serving once in 52 weeks: 182 people find nothing."""
    run = run_of(new_home(tmp_path / "home"), write_log(tmp_path / "l.tsv", "ab"), NEXT)
    n_finders = round(200_000 / 52 * 0.05 * 0.95)
    assert forecast_of(run.request, {HEADLIST: n_finders}, None).n_records < 0.1
    assert forecast_of(run.request, {HEADLIST: n_finders * 52}, None).n_records > 10


def test_a_release_that_would_list_nothing_is_refused_before_anybody_pays(tmp_path, small_log):
    home = new_home(tmp_path / "home")
    run = run_of(home, small_log, NEXT, ignore_plan=False)
    with pytest.raises(GateRefused, match=r"would be empty.*Nobody was charged.*rotation.*epsilon"):
        run_release(run)
    assert charges(home) == 0
    assert publish_epoch(home, small_log, NEXT, ignore_plan=True).is_dir()
    # From now on the plan knows better: it goes by what is published.
    following = run_of(home, small_log, "2026-W43", ignore_plan=False)
    assert run_release(following) is not None


def test_histograms_that_nobody_could_fill_are_refused_before_anybody_pays(tmp_path):
    home = new_home(tmp_path / "home")
    rows = [(str(i), "weather", "2026-11-10 10:00:00", "http://weather.com") for i in range(20)]
    log = histograms.write_log(tmp_path / "log.tsv", rows)
    run = identify_histograms(histograms.request_for(log), home)
    with pytest.raises(GateRefused, match=r"20 people would decide.*an item that everybody has"):
        run_release(run)
    assert charges(home) == 0


@pytest.fixture
def collapsed(two_weeks, empty_log):
    """A drawn release whose list is empty, after two weeks of lists."""
    run = run_of(two_weeks, empty_log, NEXT)
    with pytest.raises(
        GateRefused, match=r"the list is empty.*drawn and stored.*--accept-collapse"
    ):
        run_release(run)
    return run


def test_an_empty_list_is_not_published_without_a_persons_word(two_weeks, collapsed, empty_log):
    before = latest(two_weeks)
    assert before["epoch"] == LATER
    with pytest.raises(GateRefused, match=r"the list is empty.*Charged for this release"):
        wait_for_sign_off(collapsed)  # nobody is at this terminal
    assert latest(two_weeks) == before
    assert not collapsed.state.has(Kind.WITHHELD)
    n_charges = charges(two_weeks)
    accepted = publish_epoch(two_weeks, empty_log, NEXT, accept_collapse=True)
    assert latest(two_weeks)["release"] == accepted.name
    assert charges(two_weeks) == n_charges


@pytest.mark.parametrize("decision", ["publish", "later", "never"])
def test_somebody_at_a_terminal_or_page_is_asked_about_an_empty_list(
    collapsed, monkeypatch, decision
):
    asked = []

    def answer(question):
        asked.append(question.text)
        return flows.walking.sign_off.SignOff(decision=decision)

    monkeypatch.setattr(flows.walking.sign_off, "_can_ask", lambda: True)
    monkeypatch.setattr(flows.walking.sign_off, "_ask_in_the_terminal", answer)
    if decision == "publish":
        wait_for_sign_off(collapsed)
    else:
        with pytest.raises(GateRefused):
            wait_for_sign_off(collapsed)
    [text] = asked
    assert text.startswith("Look twice: the list is empty.")
    assert collapsed.state.has(Kind.WITHHELD) == (decision == "never")


def test_a_list_with_less_than_half_of_the_rows_or_the_mass_has_collapsed():
    now, nothing = {"trends": {("maps",): 0.1, ("news",): 0.5}}, frozenset()

    def lost(then: dict[str, float], hidden=nothing) -> list[str]:
        return losses(now, {"trends": {(query,): share for query, share in then.items()}}, hidden)

    assert lost({"maps": 0.3, "mail": 0.3}) == [], "half of the mass is still there"
    assert lost({"maps": 0.3, "mail": 0.31}) == ["what trends lists now had 49% of its mass then"]
    assert lost({"maps": 0.3, "mail": 0.31}, frozenset({"mail"})) == []
    assert lost(dict.fromkeys("abc", 0.1) | {"maps": 9}) == []
    assert lost(dict.fromkeys("abcd", 0.1) | {"maps": 9}) == ["trends has 2 rows, and had 5"]
    assert losses(now, {"changes": {("maps",): 1}}, nothing) == [], "it was not asked for then"


@pytest.fixture
def fewer(two_weeks, tmp_path):
    """A drawn release that lists one query, after two weeks of three."""
    log = write_log(tmp_path / "fewer.tsv", map(str, range(600)), queries=QUERIES[:1])
    run = run_of(two_weeks, log, NEXT)
    with pytest.raises(GateRefused, match=r"collapsed.*head_list has 1 rows, and had 3"):
        run_release(run)
    return run


def keep_one_row(folder):
    for name in ("head_list", "trends"):
        path = folder / f"{name}.jsonl"
        path.write_text(path.read_text().splitlines()[0] + "\n")


def link_elsewhere(folder):
    """To a list of another home, which had one row."""
    folder.rename(folder.parents[3] / "elsewhere")
    keep_one_row(folder.parents[3] / "elsewhere")
    folder.symlink_to(folder.parents[3] / "elsewhere")


@pytest.mark.parametrize("spoil", [keep_one_row, shutil.rmtree, link_elsewhere])
def test_whoever_writes_to_the_shelf_does_not_decide_what_has_collapsed(two_weeks, fewer, spoil):
    """Neither an edited list, nor an older one, nor none stands in for what the ledger knows."""
    spoil(shelf_of(two_weeks) / latest(two_weeks)["release"])
    with pytest.raises(GateRefused, match=r"is latest, is not what was published there.*a person"):
        run_release(fewer)
    assert not fewer.state.has(Kind.PUBLISHED)
    assert doubt_of(run_of(two_weeks, fewer.request.log, NEXT, accept_collapse=True)) == ""


def test_what_a_blocklist_removes_is_no_collapse_but_an_empty_list_is(two_weeks, small_log):
    run = run_of(two_weeks, small_log, LATER)
    blocklist = two_weeks.root / "blocked.txt"
    blocklist.write_text("\n".join(QUERIES[:2]))
    request = ReprocessRequest(release_id=run.release_id, blocklist=blocklist)
    assert run_reprocess(request, two_weeks).name.endswith(".r2")
    blocklist.write_text("\n".join(QUERIES))
    with pytest.raises(GateRefused, match="the list is empty"):
        run_reprocess(request, two_weeks)
    agreed = request.model_copy(update={"accept_collapse": True})
    assert run_reprocess(agreed, two_weeks).name.endswith(".r3")


def test_histograms_collapse_too(tmp_path):
    home = new_home(tmp_path / "home")
    run_release(
        identify_histograms(
            histograms.request_for(histograms.popular_log(tmp_path / "l.tsv")), home
        )
    )
    rows = [(str(i), "weather", "2026-11-03 10:00:00", "http://weather.com") for i in range(600)]
    log = histograms.write_log(tmp_path / "fewer.tsv", rows)
    run = identify_histograms(histograms.request_for(log, epoch="2026-W45"), home)
    with pytest.raises(GateRefused, match="queries has 1 rows, and had 3"):
        run_release(run)


def test_a_rows_weight_stands_after_its_texts():
    rows = [{"rank": 1, "query": "a", "next_query": "b", "users": 7, "of": 9}]
    assert weights_of(rows) == {("a", "b"): 7.0}
