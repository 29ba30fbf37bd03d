"""What every product's privacy label says alike, in plain words, from a manifest alone."""

import math
from fractions import Fraction

from hybriddp.rounding import rounded_up
from tasks.budget.policy import Policy
from tasks.ledger.payloads import Cap

# Over how many years the worst case of a refilling cap is stated.
HORIZON_YEARS = 10
# As many as tell all floating-point numbers apart.
ALL_DIGITS = 17
# Parts of the clients who share what they know, against whom second guarantees are stated.
COALITIONS = (Fraction(0), Fraction(1, 10), Fraction(1, 2))


def lifetime_promise(cap: Cap, what: str = "searches") -> str:
    """Say what the ledger keeps for everybody, over all releases."""
    policy = Policy.stated(cap)
    if policy.window_days is None:
        return (
            f"**Over a lifetime** nobody's {what} are used beyond {policy.cap} in all releases "
            "of all products of this curator together."
        )
    return (
        f"**Over any {policy.window_days} days** nobody's {what} are used beyond {policy.cap}; "
        f"the budget refills, so over {HORIZON_YEARS} years the worst case is "
        f"{policy.worst_case(HORIZON_YEARS)}."
    )


def limits_of_the_promise(hidden: str, people_who: str, first: str = "") -> str:
    """Say what no release promises."""
    return (
        f"**What it does not promise.** {first}It hides {hidden}, not that there are people who "
        f"{people_who}; a fact about very many people can be learnt without learning about one. "
        "How long the computation took is not hidden. A quality gate refuses bad logs before any "
        "noise is drawn, and that it passed is one bit that is not noisy."
    )


def number_of(units: int, per_one: int) -> str:
    """Return whole units of the ledger as the number that they stand for, never a smaller one."""
    return rounded_up(Fraction(units, per_one))


def in_decimals(epsilon: Fraction) -> str:
    """Return a number of four decimals that is not below this one."""
    return f"{math.ceil(epsilon * 10_000) / 10_000:.4f}"


def coalition_words(share: str) -> str:
    """Say how many clients share what they know."""
    return "none" if float(share) == 0 else f"{float(share):.0%}"
