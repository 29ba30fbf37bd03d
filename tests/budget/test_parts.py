"""The default cap has a part for Gaussian losses; changing it is said, and nothing old changes."""

import json
from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybriddp.accounting.price import Price
from hybriddp.errors import InvalidParameter
from hybriddp.params import BlenderParams, Budget
from hybriddp.series.design import SeasonDesign
from tasks.budget import policy_change
from tasks.budget.policy import Policy, current_policy, set_policy
from tasks.budget.policy_change import price_of_change, promised_policy
from tasks.budget.showing.export import public_export
from tasks.budget.showing.overview import fits_everybody, runway
from tasks.ledger.charges import EPSILON_UNITS, RHO_UNITS, Charge
from tasks.ledger.ledger import Ledger
from tasks.plan.budget import Cap, plan_budget
from tasks.products.head_list.request import ReleaseRequest
from tasks.products.label import lifetime_promise
from tasks.release.refusals import BudgetRefused
from tasks.store.home import Home
from tasks.verify import manifest
from tests.homes import new_home
from tests.imports import imported_by
from tests.publish.test_commands import hybriddp, told
from tests.release.support import reserve_groups

DEFAULT, NO_PART = Policy(), Policy.of(12, "1e-4", None)
PART = DEFAULT.with_gaussian
PEOPLE = {bytes([number]) * 16: "S" for number in range(40)}
OTHERS = {bytes([100 + number]) * 16: "S" for number in range(40)}
WEEK = Price(rho=Fraction(1, 100))


@pytest.fixture
def home(tmp_path) -> Home:
    return new_home(tmp_path / "home")


@pytest.fixture
def charge(home, monkeypatch):
    """Charge people this, in a release of its own."""

    def charged(name: str, price: Price, people: dict[bytes, str] = PEOPLE) -> None:
        monkeypatch.setattr(ReleaseRequest, "prices", lambda _: {"S": price})
        monkeypatch.setattr(ReleaseRequest, "groups_in_the_log", property(lambda _: ("S",)))
        reserve_groups(home, name, people)

    return charged


def entries_of(home: Home) -> list:
    return Ledger(home.ledger).entries()


# The default.


def test_the_part_that_is_written_down_is_the_one_that_is_found():
    """And the cap covers it: what is found is checked."""
    assert Policy.of(12, "1e-4", None, pure_epsilon=4) == DEFAULT
    DEFAULT._check_parts(PART)
    more = replace(PART, rho=PART.rho + RHO_UNITS // 1000)
    with pytest.raises(InvalidParameter):
        replace(DEFAULT, with_gaussian=more)


@pytest.mark.parametrize("command", ["show", "policy", "export"])
def test_nobody_needs_scipy_to_read_the_default_cap(home, command):
    assert imported_by("ledger", command, "--home", home.root, heavy={"scipy"}) == "[]"


def test_three_years_of_seasons_and_a_release_fit_the_default_cap():
    budget = Budget(4, "1e-5")
    season = SeasonDesign(n_weeks=52).season(budget)
    weeks = [Charge.of(Price(rho=season.rho(week))) for week in range(1, 53)]
    year = Charge.sum([Charge.of(Price(delta=Fraction(season.leak))), *weeks])
    assert DEFAULT.fits(year, Charge.of(budget)) == DEFAULT.fits(year) == 3


U = 1  # one unit is one too much
EDGES = [
    (DEFAULT.cap, True),
    (PART, True),
    (replace(DEFAULT.cap, rho=U), False),  # planted: either of the two tests passes
    (replace(PART, epsilon=PART.epsilon + U), False),
    (replace(PART, delta=PART.delta + U), False),  # planted: what converts rho is not counted
    (replace(PART, delta=PART.delta - U), True),
    (replace(PART, rho=PART.rho + U), False),
    (Charge(11 * EPSILON_UNITS, 0, RHO_UNITS // 1000), False),  # planted: kinds are traded freely
    (Charge(0, 0, 2 * PART.rho), False),
]


@pytest.mark.parametrize(("total", "is_admitted"), EDGES)
def test_nobody_loses_more_than_the_part_of_each_kind(total, is_admitted):
    assert DEFAULT.admits(total) is is_admitted


def test_half_of_delta_converts_rho_and_is_set_aside_once():
    """Planted: it is counted twice, or not at all."""
    assert PART.delta + DEFAULT.converting_delta == DEFAULT.cap.delta == 2 * PART.delta


@given(st.integers(0, 2 * DEFAULT.cap.epsilon), st.integers(0, 2 * DEFAULT.cap.delta))
def test_without_a_gaussian_loss_the_part_changes_nothing(epsilon, delta):
    """So ledgers that had none may be given it."""
    total = Charge(epsilon, delta)
    assert DEFAULT.admits(total) == NO_PART.admits(total)


def test_what_was_stated_without_a_part_has_none(home):
    stated = NO_PART.statement
    assert not [name for name in stated.as_json() if "gaussian" in name]
    assert Policy.stated(stated).with_gaussian is None
    set_policy(Ledger(home.ledger), NO_PART)
    assert current_policy(entries_of(home)).with_gaussian is None
    assert Policy(Charge(5, 5)).with_gaussian is None


# Changing it.


def test_a_part_keeps_its_share_unless_something_is_said_of_it():
    assert DEFAULT.changed(None, None, 30).with_gaussian == PART
    half = DEFAULT.changed(6, None, None).with_gaussian
    assert (half.epsilon, half.delta) == (PART.epsilon // 2, PART.delta)
    assert 0 < half.rho < PART.rho
    assert DEFAULT.changed(None, 0, None).with_gaussian is None, "rho is nothing without a delta"
    assert DEFAULT.changed(None, None, None, no_gaussian=True) == NO_PART
    assert NO_PART.changed(20, None, None).with_gaussian is None
    none_else = NO_PART.changed(None, None, None, None, 0).with_gaussian
    assert (none_else.epsilon, none_else.delta) == (0, PART.delta)
    assert none_else.rho > PART.rho
    with pytest.raises(InvalidParameter, match="take one of the two"):
        DEFAULT.changed(None, None, None, None, 1, no_gaussian=True)


@pytest.mark.parametrize("is_gaussian", [False, True])
def test_parts_that_somebody_used_are_promised_with_those_that_hold_now(home, charge, is_gaussian):
    """Before the first Gaussian loss nobody has seen anything that parts were for."""
    charge("first", WEEK if is_gaussian else Price(Fraction(1)))
    set_policy(Ledger(home.ledger), DEFAULT.changed(None, None, None, None, 0))
    promised = promised_policy(entries_of(home))
    assert (promised.with_gaussian is not None) == is_gaussian
    epsilon = promised.cap.epsilon / EPSILON_UNITS
    assert epsilon == pytest.approx(16 if is_gaussian else 12, abs=1e-6)


def test_until_there_is_a_gaussian_loss_no_label_speaks_of_parts(home, charge):
    charge("pure", Price(Fraction(1)))
    assert promised_policy(entries_of(home)) == NO_PART
    charge("week", WEEK)
    promised = promised_policy(entries_of(home))
    assert promised == DEFAULT
    assert lifetime_promise(promised.statement) == lifetime_promise(NO_PART.statement)
    assert "rho" not in lifetime_promise(promised.statement)


def test_a_change_of_parts_says_what_it_does(home, charge, monkeypatch):
    monkeypatch.setattr(policy_change, "published_caps", lambda _: [NO_PART.statement])
    new = DEFAULT.changed(None, None, None, None, 0)
    charge("pure", Price(Fraction(1)))
    said = price_of_change(home, DEFAULT, new)
    assert "Nobody has a Gaussian loss yet" in said
    assert "broken" not in said
    charge("week", WEEK)
    said = price_of_change(home, DEFAULT, new)
    assert "is dangerous" in said
    assert "keep people below (epsilon 16, delta 0.0001) only" in said
    assert "looser than 1 of them: their promise would be broken" in said
    said = price_of_change(home, DEFAULT, NO_PART)
    assert "takes part in nothing any more" in said
    assert "broken" not in said
    assert "Gaussian" not in price_of_change(home, DEFAULT, replace(DEFAULT, max_refusals=11))


# What is said.


def test_the_runway_does_not_forget_a_part_that_is_not_asked_for(home, charge):
    """Planted: whoever has spent epsilon 5 has rho left, and none of it fits."""
    assert DEFAULT.fits(Charge.of(WEEK), Charge(5 * EPSILON_UNITS, 0)) == 0
    assert DEFAULT.fits(Charge(EPSILON_UNITS, 0), Charge(0, 0, PART.rho + 1)) == 0
    assert fits_everybody(DEFAULT, Charge.of(WEEK), ()) == DEFAULT.fits(Charge.of(WEEK)) == 158
    charge("pure", Price(Fraction(5)))
    charge("week", WEEK, OTHERS)
    reach = runway(home)
    assert (reach.fits_largest, reach.fits_newcomer) == (0, PART.rho // Charge.of(WEEK).rho)
    charge("small", Price(Fraction(1)), OTHERS)
    reach = runway(home)
    assert reach.spent == (Charge(5 * EPSILON_UNITS, 0), Charge(EPSILON_UNITS, 0, RHO_UNITS // 100))
    assert (reach.fits_largest, reach.n_accounts) == (3, 80), "of both kinds, each under its own"


def test_show_speaks_of_rho_only_where_there_is_some(home, charge):
    charge("pure", Price(Fraction(1)))
    shown = hybriddp("ledger", "show", home=home.root).stdout
    assert "rho" not in shown
    assert "Gaussian" not in shown
    assert "with_gaussian" not in told("ledger", "show", home=home.root)["runway"]["policy"]
    charge("week", WEEK, OTHERS)
    shown = " ".join(hybriddp("ledger", "show", home=home.root).stdout.split())
    assert "epsilon delta rho" in shown
    assert "may lose at most rho 1.58973, which is epsilon 8 at delta 5e-05" in shown
    assert "and (epsilon 4, delta 5e-05) of all else: together no more than the cap" in shown
    assert "The Gaussian loss of rho 0.01 is epsilon 0.435898 at delta 5e-05" in shown
    assert told("ledger", "show", home=home.root)["runway"]["policy"]["with_gaussian"]["rho_pico"]


def test_a_balance_says_what_rho_is(home, charge):
    from tasks.budget.accounts import account_of
    from tasks.store.keys import Keyring

    account = account_of(Keyring.open(home), "p1")
    assert "Gaussian" not in hybriddp("ledger", "balance", "p1", home=home.root).stdout
    charge("week", WEEK, {**PEOPLE, account: "S"})
    said = hybriddp("ledger", "balance", "p1", home=home.root).stdout
    assert (
        "Spent (epsilon 0, delta 0, Gaussian loss rho 0.01) of (epsilon 12, delta 0.0001)" in said
    )
    assert "remaining (epsilon 4, delta 5e-05, Gaussian loss rho 1.57972)" in said
    assert "The Gaussian loss of rho 0.01 is epsilon 0.435898 at delta 5e-05" in said


def test_an_export_explains_gaussian_losses_where_it_has_some(home, charge):
    set_policy(Ledger(home.ledger), NO_PART)
    charge("old", Price(Fraction(1)))
    assert set(public_export(home)) == {"schema_version", "head", "entries"}
    set_policy(Ledger(home.ledger), DEFAULT)
    charge("pure", Price(Fraction(1)))
    assert "rho_pico" not in public_export(home)["meaning"]
    charge("week", WEEK)
    exported = json.loads(hybriddp("ledger", "export", home=home.root).stdout)
    assert "adds up" in exported["meaning"]["rho_pico"]
    row = [row for row in exported["entries"] if row.get("kind") == "RESERVED"][-1]
    assert row["groups"]["S"]["rho_pico"] == RHO_UNITS // 100
    assert set(exported["meaning"]) - set(row["policy"]) == {"rho_pico"}


def test_a_refusal_says_what_the_release_asks_for(charge):
    with pytest.raises(BudgetRefused) as refused:
        charge("long", Price(rho=Fraction(2)))
    said = str(refused.value)
    assert "asked (epsilon 0, delta 0, Gaussian loss rho 2)" in said
    assert "The Gaussian loss of rho 2 is epsilon 9.2" in said
    assert "may lose at most rho 1.58973, which is epsilon 8 at delta 5e-05" in said


def test_a_plan_says_what_people_with_a_gaussian_loss_have_left():
    from tasks.plan.page import runway_words

    params, rho = BlenderParams(2, "1e-5"), Charge(0, 0, RHO_UNITS)
    plan = plan_budget(params, 1, "week", 365, Cap(DEFAULT, "a test", (Charge(0, 0), rho)))
    assert (plan.fits, plan.fits_most_charged) == (6, 2)
    words = " ".join(runway_words(type("Plan", (), {"budget": plan})))
    assert "whoever has one may lose (epsilon 4, delta 5e-05) besides, which is 2 releases" in words
    without = plan_budget(params, 1, "week", 365, Cap(DEFAULT, "a test", (Charge(0, 0),)))
    assert "Gaussian" not in " ".join(runway_words(type("Plan", (), {"budget": without})))


def test_a_part_is_set_from_the_terminal(home):
    assert "may lose at most rho 1.58973" in hybriddp("ledger", "policy", home=home.root).stdout
    assert [row.kind for row in entries_of(home)].count("POLICY") == 0, "only looked at"
    asked = hybriddp("ledger", "policy", "--pure-epsilon", "0", home=home.root)
    assert asked.exit_code == 2
    assert "Nobody has a Gaussian loss yet" in " ".join(asked.stderr.split())
    changed = told("ledger", "policy", "--pure-epsilon", "0", "--yes", home=home.root)
    assert changed["with_gaussian"]["epsilon"] == 0
    assert changed["with_gaussian"]["rho_pico"] > PART.rho
    assert current_policy(entries_of(home)).with_gaussian.rho > PART.rho
    done = hybriddp("ledger", "policy", "--no-gaussian", "--yes", home=home.root)
    assert "No Gaussian loss fits it" in done.stdout
    assert current_policy(entries_of(home)) == NO_PART
    for wrong in (["--pure-epsilon", "12"], ["--pure-epsilon", "1", "--no-gaussian"]):
        assert hybriddp("ledger", "policy", *wrong, "--yes", home=home.root).exit_code == 2
    assert current_policy(entries_of(home)) == NO_PART


def test_a_manifest_states_a_gaussian_loss_as_it_was_charged():
    """Planted: a Gaussian loss that is promised as a pure one is another price."""
    words = manifest.words_of({"S": "r"}, {"S": "t"})
    for paid in (Charge(1, 2, 3), Charge(1, 2)):
        stated = manifest.guarantees_of({"S": paid.terms(40)}, words)["S"]
        assert ("rho_pico" in stated) == (paid.rho > 0)
        read = manifest.Guarantee.model_validate(stated)
        assert manifest._GUARANTEE(stated)
        assert Charge.of_terms(read.terms) == paid
        assert read.terms.as_json() == paid.terms(40).as_json()
        assert read.words == words["S"]
        assert not manifest._GUARANTEE(stated | {"rho_pico": -1})
        assert not manifest._GUARANTEE(stated | {"rho_pico": 0})
