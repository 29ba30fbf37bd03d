"""What happened to people's data, as typed events, and what it cost them.

An event describes one access to private data by the numbers that were drawn with; accountants
price it. Events are never removed and never change their meaning, since ledgers hold them for
ever. An accountant refuses an event that it does not know.

Every event carries the budget that it was promised to keep, and cannot be built if its own
numbers cost more.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from functools import reduce
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from hybriddp.errors import InvalidParameter, UnknownEvent, require, require_count
from hybriddp.exact import EXACT, UPWARDS, exp, float_above
from hybriddp.noise import DiscreteLaplace
from hybriddp.params import Budget
from hybriddp.response import LawPair, RandomizedResponse, two_stage_neighbour_laws, worst_delta
from hybriddp.subset import SubsetResponse

if TYPE_CHECKING:
    from dp_accounting.pld.privacy_loss_distribution import PrivacyLossDistribution

# dp-accounting is imported where it is used: it takes seconds, and a release never asks it.

# Replacing a user takes one record away and adds one: two counts move by one each.
REPLACE_ONE_SENSITIVITY = 2

# The grid of privacy losses; dp-accounting rounds losses up to it.
_LOSS_STEP = 1e-4


class Neighbours(Enum):
    """Which two data sets an event's promise compares."""

    REPLACE_ONE_USER = "replace-one-user"
    ADD_OR_REMOVE_ONE_USER = "add-or-remove-one-user"


class Cost(NamedTuple):
    """A composed privacy loss; unlike a Budget it may be large."""

    epsilon: Fraction
    delta: Fraction


@dataclass(frozen=True, slots=True)
class HeadListDraw:
    """Records were named whose count plus discrete Laplace noise exceeded a threshold.

    Their noisy counts may have been published with them: that costs no more. Counts are in units
    of 1/`records_per_user` of a user, of whom each has `records_per_user` units.
    """

    budget: Budget
    noise_scale: float
    threshold: int
    records_per_user: int = 1

    neighbours: ClassVar[Neighbours] = Neighbours.REPLACE_ONE_USER

    def __post_init__(self) -> None:
        require_count(self.records_per_user, "records_per_user")
        require_count(self.threshold, "threshold")
        _check_noise(self.budget, self.noise_scale, REPLACE_ONE_SENSITIVITY * self.records_per_user)
        require(
            self.threshold >= self.records_per_user,
            f"threshold must be at least the {self.records_per_user} units of one user",
            self.threshold,
            "raise the threshold",
        )
        require(
            Fraction(self._leak) <= self.budget.delta,
            f"a record of one user must pass threshold {self.threshold} with probability at most "
            f"delta = {float(self.budget.delta):.6g}",
            f"{self._leak:.6g}",
            "raise the threshold",
        )

    @property
    def singleton_probability(self) -> float:
        """The chance that a record which only one user holds is named, rounded up."""
        return float_above(self._leak)

    @property
    def _leak(self) -> Decimal:
        return headlist_leak(self.noise_scale, self.threshold, self.records_per_user)


def headlist_leak(noise_scale: float, threshold: int, records_per_user: int) -> Decimal:
    """Return the chance that any record is named that one user alone holds, rounded up.

    P(Y >= T) = a^T/(1+a) for T >= 1, with a = exp(-1/scale) of the very scale that is drawn. A
    user's m units lie on one record, or each on its own, or in between; one of the two ends is
    the worst (docs/proofs/create_head_list.md): max(a^(T+1-m), m a^T)/(1+a).
    """
    loss = 1 / Fraction(noise_scale)
    together = exp(-(threshold + 1 - records_per_user) * loss)
    apart = EXACT.multiply(exp(-threshold * loss), records_per_user)
    tail = EXACT.divide(max(together, apart), EXACT.add(1, exp(-loss)))
    return EXACT.multiply(tail, UPWARDS)


@dataclass(frozen=True, slots=True)
class OptinHistogram:
    """Counts over cells fixed beforehand were published with discrete Laplace noise.

    Replacing a user moves all counts together by at most `l1_sensitivity`; if that is 2, two
    counts by one each.
    """

    budget: Budget
    noise_scale: float
    l1_sensitivity: int = REPLACE_ONE_SENSITIVITY

    neighbours: ClassVar[Neighbours] = Neighbours.REPLACE_ONE_USER

    def __post_init__(self) -> None:
        require_count(self.l1_sensitivity, "l1_sensitivity")
        _check_noise(self.budget, self.noise_scale, self.l1_sensitivity)


@dataclass(frozen=True, slots=True)
class ClientReport:
    """A client sent `n_reports` reports through a two-stage randomized response.

    `urls` holds the different url responses, one for each length of list.
    """

    budget: Budget
    query: RandomizedResponse
    urls: tuple[RandomizedResponse, ...]
    n_reports: int = 1

    neighbours: ClassVar[Neighbours] = Neighbours.REPLACE_ONE_USER

    def __post_init__(self) -> None:
        require_count(self.n_reports, "n_reports")
        require(
            isinstance(self.urls, tuple) and len(self.urls) >= 1,
            "urls must be a tuple with the response of at least one list",
            f"{type(self.urls).__name__}",
            "take them from a TwoStageResponse",
        )
        share = Fraction(1, self.n_reports)
        delta = worst_delta(self.neighbour_laws(), self.budget.epsilon * share)
        require(
            delta <= self.budget.delta * share,
            f"a report at epsilon {float(self.budget.epsilon * share):.6g} must keep "
            f"delta <= {float(self.budget.delta * share):.6g}",
            f"{float(delta):.6g}",
            "build the response from the budget that is charged",
        )

    def neighbour_laws(self) -> list[LawPair]:
        """Return the laws of one report under every kind of pair of records."""
        return two_stage_neighbour_laws(self.query, self.urls)


@dataclass(frozen=True, slots=True)
class SubsetReport:
    """A client sent one report by subset selection, over all cells of a list at once."""

    budget: Budget
    response: SubsetResponse

    neighbours: ClassVar[Neighbours] = Neighbours.REPLACE_ONE_USER

    def __post_init__(self) -> None:
        delta = worst_delta(self.neighbour_laws(), self.budget.epsilon)
        require(
            delta <= self.budget.delta,
            f"a report at epsilon {float(self.budget.epsilon):.6g} must keep "
            f"delta <= {float(self.budget.delta):.6g}",
            f"{float(delta):.6g}",
            "build the response from the budget that is charged",
        )

    def neighbour_laws(self) -> list[LawPair]:
        """Return the laws of one report under two different cells."""
        return self.response.neighbour_laws()


Event = HeadListDraw | OptinHistogram | ClientReport | SubsetReport
EVENT_TYPES: tuple[type, ...] = (HeadListDraw, OptinHistogram, ClientReport, SubsetReport)


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
    return min(epsilon, float(basic.epsilon)) if basic.delta <= Fraction(delta) else epsilon


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


def _check_noise(budget: Budget, noise_scale: float, l1_sensitivity: int) -> None:
    epsilon = DiscreteLaplace(noise_scale).epsilon(l1_sensitivity)
    require(
        epsilon <= budget.epsilon,
        f"noise must cost at most epsilon = {float(budget.epsilon):.6g}",
        f"{float(epsilon):.17g} at scale {noise_scale:.6g}",
        "raise the scale",
    )


def _loss_distribution(event: Event) -> "PrivacyLossDistribution":
    from dp_accounting.pld import common
    from dp_accounting.pld import privacy_loss_distribution as pld

    match event:
        case OptinHistogram():
            return _noisy_counts(event.noise_scale, event.l1_sensitivity)
        case HeadListDraw():
            # A key that only one neighbour holds is named with at most this probability;
            # docs/proofs/create_head_list.md shows that the product dominates every pair.
            leak = common.DifferentialPrivacyParameters(0, event.singleton_probability)
            exclusive = pld.from_privacy_parameters(leak, _LOSS_STEP)
            moved = REPLACE_ONE_SENSITIVITY * event.records_per_user
            return _noisy_counts(event.noise_scale, moved).compose(exclusive)
        case ClientReport():
            return _from_pairs(event.neighbour_laws()).self_compose(event.n_reports)
        case SubsetReport():
            return _from_pairs(event.neighbour_laws())


def _noisy_counts(scale: float, l1_sensitivity: int) -> "PrivacyLossDistribution":
    """Price noisy counts that replacing a user moves by `l1_sensitivity` in all."""
    from dp_accounting.pld import common
    from dp_accounting.pld import privacy_loss_distribution as pld

    if l1_sensitivity != REPLACE_ONE_SENSITIVITY:
        # The units may be spread over any number of counts; the worst mechanism of this epsilon
        # dominates them all.
        epsilon = l1_sensitivity / scale * (1 + 2**-50)
        worst = common.DifferentialPrivacyParameters(epsilon, 0)
        return pld.from_privacy_parameters(worst, _LOSS_STEP)
    one = pld.from_discrete_laplace_mechanism(1 / scale, value_discretization_interval=_LOSS_STEP)
    return one.self_compose(REPLACE_ONE_SENSITIVITY)


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
