"""What people pay for a mean, from its exact parameters."""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from hybriddp.mean.clients import GAUSSIAN
from hybriddp.params import Budget
from tasks.budget.policy import EPSILON_UNITS
from tasks.products.mean import NUMBERS, SQUARES, SUMS


def mean_prices(parameters: Mapping[str, Any]) -> dict[str, Budget]:
    """Return what a member of each group pays, from the exact text of measurement parameters.

    Laplace noise needs no delta. The share for the squares is taken in whole units of the ledger,
    so that the two parts of an opt-in person's budget add up to it.
    """
    epsilon, delta = Fraction(parameters["epsilon"]), Fraction(parameters["delta"])
    share = Fraction(parameters["variance_share"])
    for_squares = Fraction(int(epsilon * share * EPSILON_UNITS), EPSILON_UNITS)
    of_sums, of_reports = (
        delta if parameters[name] == GAUSSIAN else Fraction(0) for name in ("noise", "report")
    )
    prices = {SUMS: Budget(epsilon - for_squares, of_sums)}
    if share > 0:
        prices[SQUARES] = Budget(for_squares)
    prices[NUMBERS] = Budget(epsilon, of_reports)
    return prices
