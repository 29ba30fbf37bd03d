"""What events cost the people whose data they touched.

Accountants price events that touched the same person; they refuse one that they do not know.
"""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import reduce
from typing import TYPE_CHECKING, NamedTuple

from hybriddp.accounting.event import Event, require_known
from hybriddp.accounting.losses import Losses, gathered
from hybriddp.errors import InvalidParameter, require

if TYPE_CHECKING:
    from dp_accounting.pld.privacy_loss_distribution import PrivacyLossDistribution


class Cost(NamedTuple):
    """A composed privacy loss; unlike a Budget it may be large."""

    epsilon: Fraction
    delta: Fraction


def compose_basic(events: Iterable[Event]) -> Cost:
    """Add up the budgets of events that touched the same person, exactly."""
    total = Cost(Fraction(0), Fraction(0))
    for event in _known(events):
        total = Cost(total.epsilon + event.budget.epsilon, total.delta + event.budget.delta)
    return total


def compose_parallel(costs: Iterable[Cost]) -> Cost:
    """Return what any one person pays when the costs fell on disjoint groups of people."""
    spent = list(costs)
    return Cost(
        max((cost.epsilon for cost in spent), default=Fraction(0)),
        max((cost.delta for cost in spent), default=Fraction(0)),
    )


def compose_pld(events: Iterable[Event], delta: float) -> float:
    """Return the epsilon at `delta` of events that touched the same person, by PLD accounting.

    Built from dp-accounting's distributions. Its PLDAccountant is not used: version 0.6.0
    ignores the count of randomized responses and prices 52 of them like one.
    """
    require(0 < delta < 1, "delta must be strictly between 0 and 1", delta, "use for example 1e-6")
    known = _known(events)
    if not known:
        return 0.0
    losses = gathered((event.losses(), count) for event, count in Counter(known).items())
    parts = [_composed(each).self_compose(count) for each, count in losses]
    epsilon = float(reduce(lambda a, b: a.compose(b), parts).get_epsilon_for_delta(delta))
    basic = compose_basic(known)
    # Losses are rounded up to a grid, so the plain sum may be the smaller of two true bounds.
    return min(epsilon, float_above(basic.epsilon)) if basic.delta <= Fraction(delta) else epsilon


def float_above(value: Fraction) -> float:
    """Return the nearest floating-point number that is not below this one."""
    near = float(value)
    return near if Fraction(near) >= value else math.nextafter(near, math.inf)


def _known(events: Iterable[Event]) -> Sequence[Event]:
    known = [require_known(event) for event in events]
    if len({event.neighbours for event in known}) > 1:
        raise InvalidParameter(
            "events must share one neighbouring relation, got several; "
            "convert them to the same relation before composing."
        )
    return known


def _composed(losses: Losses) -> "PrivacyLossDistribution":
    parts = [part.distribution().self_compose(times) for part, times in losses]
    return reduce(lambda a, b: a.compose(b), parts)
