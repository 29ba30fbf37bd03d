"""The runway of a series is counted in seasons: what is left of this one, and how many more fit."""

from fractions import Fraction

import pytest

from hybriddp.accounting.price import Price
from hybriddp.params import Budget
from hybriddp.series.design import SeasonDesign
from tasks.budget.policy import Policy
from tasks.budget.showing.seasons import SeasonRunway
from tasks.ledger.charges import EPSILON_UNITS, Charge
from tasks.ledger.payloads import SeasonPlace

SEASON = SeasonDesign(4, 3).season(Budget(2, "1e-6"))
WEEKS = [Charge.of(Price(rho=SEASON.rho(week))) for week in range(1, 5)]
TESTS = Charge.of(Price(delta=Fraction(SEASON.leak)))
WHOLE = Charge.sum([TESTS, *WEEKS])
CLIENT = Charge(2 * EPSILON_UNITS, 0)
# What groups of a week charge: who joins and who opted in, or a client.
PRICES = [Charge.sum([TESTS, WEEKS[1]]), CLIENT]
# The default cap: (12, 1e-4) for whoever has no Gaussian loss, and parts for whoever has.
POLICY = Policy()


def ahead(
    week: int, *spent: Charge, policy: Policy = POLICY, is_ended: bool = False
) -> SeasonRunway:
    return SeasonRunway.of(policy, place_at(week), PRICES, spent, is_ended=is_ended)


def place_at(week: int) -> SeasonPlace:
    return SeasonPlace(
        series="weekly", season=1, week=week, first_epoch="2026-W40", epsilon="2", delta="1e-6",
        numbers=SEASON.numbers(), names_of=None, earlier=[], unseen=[],
    )  # fmt: skip


def test_one_more_week_is_not_what_is_counted():
    so_far = Charge.sum([TESTS, *WEEKS[:2]])
    found = ahead(2, CLIENT, so_far)
    assert found.rest == Charge.sum(WEEKS[2:])
    assert found.member == WHOLE
    part = POLICY.with_gaussian
    assert part is not None
    left = part.less(WHOLE)
    by_hand = min(left.delta // WHOLE.delta, left.rho // WHOLE.rho)
    assert found.fits_members == by_hand > 1
    assert (found.fits_clients, found.fits_newcomer) == (5, min(6, by_hand + 1))
    assert found.fits_largest == min(5, by_hand)
    assert found.is_covered


def test_clients_whose_week_is_ahead_pay_in_this_season_too():
    """Planted: a season that began in another week of the rotation, after one was missed."""
    policy = Policy.of(6, "1e-4", None)

    def fits(week: int, *unserved: Charge, is_ended: bool = False) -> int:
        spent = [CLIENT, WHOLE]
        found = SeasonRunway.of(policy, place_at(week), PRICES, spent, unserved, is_ended=is_ended)
        return found.fits_clients

    assert fits(2) == 2, "whoever paid most has served"
    assert fits(2, CLIENT, WHOLE) == 1
    assert fits(2, Charge(0, CLIENT.delta)) == 2, "no client yet"
    assert fits(4, CLIENT) == fits(2, CLIENT, is_ended=True) == 2, "nothing is ahead"


def test_whoever_was_on_both_sides_has_least_left():
    """Their epsilon is under the part of the cap that is beside Gaussian losses: 4, not 12."""
    both = Charge.sum([CLIENT, TESTS, *WEEKS[:2]])
    assert ahead(2, CLIENT, both).fits_clients == 1


@pytest.mark.parametrize(("short", "is_covered"), [(0, True), (1, False)])
def test_the_rest_of_a_season_is_covered_to_the_last_unit(short, is_covered):
    part = POLICY.with_gaussian
    assert part is not None
    spent = Charge(0, TESTS.delta, part.rho - Charge.sum(WEEKS[2:]).rho + short)
    found = ahead(2, spent)
    assert found.is_covered is is_covered
    assert found.fits_members == 0
    assert ("not all of them have room" in found.words) is not is_covered


def test_the_last_week_leaves_nothing_to_pay():
    found = ahead(4, WHOLE)
    assert found.rest == Charge(0, 0)
    assert "It was the last one." in found.words
    assert "The last week costs" in ahead(3, WHOLE).words


def test_a_season_that_was_ended_leaves_nothing_to_pay():
    found = ahead(2, WHOLE, is_ended=True)
    assert found.rest == Charge(0, 0)
    assert "at week 2 of 4 of season 1. It was ended there. More seasons" in found.words
