"""The second guarantee of a mean: against those who see the release and nothing else."""

import math
from collections.abc import Iterable, Mapping
from fractions import Fraction
from functools import lru_cache
from typing import Any

from hybriddp.mean.amplification import Certified
from hybriddp.mean.votes import Ballot
from hybriddp.params import Budget
from hybriddp.rounding import rounded_up
from tasks.products.mean.estimates import MeanLaws, ballot_of

# As many as tell all floating-point numbers apart.
_ALL_DIGITS = 17
# Parts of the clients who share what they know, against whom the guarantee is stated.
COALITIONS = (Fraction(0), Fraction(1, 10), Fraction(1, 2))
# How many people of both groups a key has.
Sizes = tuple[int, int]


def second_guarantee(
    parameters: Mapping[str, Any], sizes: Iterable[Sizes]
) -> list[dict[str, Any]] | None:
    """Return what is proved for every key of these sizes; None if nothing beyond the first is.

    One row for each size of a coalition. The first guarantee bounds what anybody loses in any case,
    so that is what a key states that has people of one group only.
    """
    if not parameters["one_number"]:
        return None
    laws, sizes = MeanLaws(parameters), tuple(sizes)
    budget = laws.sums.budget
    stated = []
    n_clients = sum(of_key[1] for of_key in sizes)
    for share in COALITIONS:
        # A coalition may be anywhere, so all of it may be in one key.
        n_adversaries = math.ceil(share * n_clients)
        proved = [_certified(laws, budget, of_key, n_adversaries) for of_key in sizes]
        stated.append(
            {
                "coalition": f"{float(share):g}",
                "epsilon_optin": _upwards(max(found.epsilon_trusted for found in proved)),
                "epsilon_clients": _upwards(max(found.epsilon_local for found in proved)),
                "delta": rounded_up(budget.delta, _ALL_DIGITS),
            }
        )
    return stated


def _certified(laws: MeanLaws, budget: Budget, sizes: Sizes, n_adversaries: int) -> Certified:
    n_optin, n_clients = sizes
    if n_optin == 0 or n_clients == 0:
        return Certified(budget, budget.epsilon, budget.epsilon)
    ballot = ballot_of(laws, n_optin, n_clients)
    if n_adversaries < n_clients:
        return _proved(ballot, budget, n_adversaries)
    # A client who is left is hidden by their own noise and the curator's; if nobody is left, opt-in
    # people are hidden by the curator's alone.
    last = _proved(ballot, budget, n_clients - 1)
    return Certified(budget, budget.epsilon, last.epsilon_local)


@lru_cache(maxsize=1024)  # asked for the manifest, the label and the checks; a tenth of a second
def _proved(ballot: Ballot, budget: Budget, n_adversaries: int) -> Certified:
    return ballot.certified(budget, n_adversaries)


def _upwards(epsilon: Fraction) -> str:
    """Return a number of four decimals that is not below this one."""
    return f"{math.ceil(epsilon * 10_000) / 10_000:.4f}"
