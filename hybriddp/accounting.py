"""What events cost the people whose data they touched.

Accountants price events that touched the same person; they refuse one that they do not know.
"""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import reduce
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from hybriddp.errors import InvalidParameter, UnknownEvent, require
from hybriddp.event_rules import REPLACE_ONE_SENSITIVITY
from hybriddp.events import (
    EVENT_TYPES,
    ClientReport,
    Event,
    HeadListDraw,
    ItemHistogram,
    OptinHistogram,
    SubsetReport,
)
from hybriddp.kmeans_events import ClusterReport, ClusterSums
from hybriddp.mean_events import BoundedReport, BoundedSum
from hybriddp.response import LawPair

if TYPE_CHECKING:
    from dp_accounting.pld.privacy_loss_distribution import PrivacyLossDistribution

# dp-accounting is imported where it is used: it takes seconds, and a release never asks it.

# The grid of privacy losses; dp-accounting rounds losses up to it.
_LOSS_STEP = 1e-4


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
    parts = [_loss_distribution(e).self_compose(count) for e, count in Counter(known).items()]
    epsilon = float(reduce(lambda a, b: a.compose(b), parts).get_epsilon_for_delta(delta))
    basic = compose_basic(known)
    # Losses are rounded up to a grid, so the plain sum may be the smaller of two true bounds.
    return min(epsilon, float_above(basic.epsilon)) if basic.delta <= Fraction(delta) else epsilon


def float_above(value: Fraction) -> float:
    """Return the nearest floating-point number that is not below this one."""
    near = float(value)
    return near if Fraction(near) >= value else math.nextafter(near, math.inf)


def _known(events: Iterable[Event]) -> Sequence[Event]:
    known = list(events)
    for event in known:
        if type(event) not in EVENT_TYPES:  # a subclass could have lifted the checks
            raise UnknownEvent(
                f"event must be one of {[t.__name__ for t in EVENT_TYPES]}, got "
                f"{type(event).__name__}; register it in hybriddp.accounting with its price."
            )
    if len({event.neighbours for event in known}) > 1:
        raise InvalidParameter(
            "events must share one neighbouring relation, got several; "
            "convert them to the same relation before composing."
        )
    return known


def _loss_distribution(event: Event) -> "PrivacyLossDistribution":
    match event:
        case OptinHistogram():
            return _noisy_counts(event.noise_scale, event.l1_sensitivity)
        case HeadListDraw():
            moved = REPLACE_ONE_SENSITIVITY * event.records_per_user
            shared = _noisy_counts(event.noise_scale, moved)
            return shared.compose(_exclusive(event.singleton_probability))
        case ItemHistogram():
            # Each of up to 2 m counts moves by one.
            n_counts = REPLACE_ONE_SENSITIVITY * event.items_per_user
            shared = _one_count(event.noise_scale).self_compose(n_counts)
            return shared.compose(_exclusive(event.leak))
        case ClientReport():
            return _from_pairs(event.neighbour_laws()).self_compose(event.n_reports)
        case SubsetReport():
            return _from_pairs(event.neighbour_laws())
        case BoundedSum() | BoundedReport():
            return _worst_of(event.budget.epsilon, event.budget.delta)
        case ClusterSums():
            return _worst_of(event.iteration_epsilon).self_compose(event.n_iterations)
        case ClusterReport():
            responses = _from_pairs(event.response_laws()).self_compose(event.n_iterations)
            return _worst_of(event.point_epsilon).compose(responses)


def _noisy_counts(scale: float, l1_sensitivity: int) -> "PrivacyLossDistribution":
    """Price noisy counts that replacing a user moves by `l1_sensitivity` in all."""
    if l1_sensitivity != REPLACE_ONE_SENSITIVITY:
        # The units may be spread over any number of counts.
        return _worst_of(l1_sensitivity / Fraction(scale))
    return _one_count(scale).self_compose(REPLACE_ONE_SENSITIVITY)


def _worst_of(epsilon: Fraction, delta: Fraction = Fraction(0)) -> "PrivacyLossDistribution":
    """Price a mechanism of which only the promise is known: the worst of them dominates it."""
    from dp_accounting.pld import common
    from dp_accounting.pld import privacy_loss_distribution as pld

    upwards = 1 + 2**-50
    worst = common.DifferentialPrivacyParameters(float(epsilon) * upwards, float(delta) * upwards)
    return pld.from_privacy_parameters(worst, _LOSS_STEP)


def _one_count(scale: float) -> "PrivacyLossDistribution":
    """Price a noisy count that moves by one."""
    from dp_accounting.pld import privacy_loss_distribution as pld

    return pld.from_discrete_laplace_mechanism(1 / scale, value_discretization_interval=_LOSS_STEP)


def _exclusive(leak: float) -> "PrivacyLossDistribution":
    """Price what only one neighbour can name, with at most this probability.

    docs/proofs/create_head_list.md shows that its product with the shared part dominates.
    """
    from dp_accounting.pld import common
    from dp_accounting.pld import privacy_loss_distribution as pld

    return pld.from_privacy_parameters(common.DifferentialPrivacyParameters(0, leak), _LOSS_STEP)


def _from_pairs(pairs: Sequence[LawPair]) -> "PrivacyLossDistribution":
    """Return a distribution that dominates every pair: the envelope of their deltas.

    An adversary may meet another kind of pair in every release, so composing the worst single
    pair is not enough. The pointwise maximum of hockey-stick curves is such a curve itself
    (Zhu, Dong, Wang 2022, proposition 10); Connect-the-Dots discretises it pessimistically.
    """
    from dp_accounting.pld import pld_pmf
    from dp_accounting.pld import privacy_loss_distribution as pld

    tables = [np.array([(float(p), float(q), n) for p, q, n in pair]) for pair in pairs]
    most = max(float(np.max(np.log(t[:, 0] / t[:, 1]))) for t in tables)
    grid = np.arange(-np.ceil(most / _LOSS_STEP) - 1, np.ceil(most / _LOSS_STEP) + 2)
    scale = np.exp(grid * _LOSS_STEP)[:, None]
    envelope = np.zeros(len(grid))
    for p, q, n in (table.T for table in tables):
        envelope = np.maximum(envelope, (n * np.maximum(p - scale * q, 0)).sum(axis=1))
    pmf: Any = pld_pmf.create_pmf_pessimistic_connect_dots(
        _LOSS_STEP, grid.astype(np.int64), np.minimum.accumulate(envelope)
    )
    return pld.PrivacyLossDistribution(pmf)
