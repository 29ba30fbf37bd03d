"""What happened to people's data, as typed events.

An event describes one access to private data by the numbers that were drawn with. Events are never
removed and never change their meaning, since ledgers hold them for ever.

Every event carries the budget that it was promised to keep, and cannot be built if its own
numbers cost more.
"""

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import ClassVar

from hybriddp.errors import require, require_count, require_one_of
from hybriddp.event_rules import REPLACE_ONE_SENSITIVITY, Neighbours, check_noise
from hybriddp.exact import EXACT, UPWARDS, exp, float_above
from hybriddp.kmeans_events import ClusterReport, ClusterSums
from hybriddp.mean_events import BoundedReport, BoundedSum
from hybriddp.params import Budget
from hybriddp.response import LawPair, RandomizedResponse, two_stage_neighbour_laws, worst_delta
from hybriddp.subset import SubsetResponse


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
        check_noise(self.budget, self.noise_scale, REPLACE_ONE_SENSITIVITY * self.records_per_user)
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
        check_noise(self.budget, self.noise_scale, self.l1_sensitivity)


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


# Which promise an (epsilon, delta) of a published histogram means.
PROBABILISTIC, INDISTINGUISHABLE = "probabilistic", "indistinguishable"
RELAXATIONS = (PROBABILISTIC, INDISTINGUISHABLE)


@dataclass(frozen=True, slots=True)
class ItemHistogram:
    """Items were published with discrete Laplace noise if enough users hold them (ZEALOUS).

    Each of `n_users` users holds at most `items_per_user` different items, each once. Counts below
    `first_threshold` were dropped, noise was added, and what did not exceed `threshold` was
    dropped, too.
    """

    budget: Budget
    relaxation: str
    noise_scale: float
    first_threshold: int
    threshold: int
    items_per_user: int
    n_users: int

    neighbours: ClassVar[Neighbours] = Neighbours.REPLACE_ONE_USER

    def __post_init__(self) -> None:
        for name in ("first_threshold", "threshold", "items_per_user", "n_users"):
            require_count(getattr(self, name), name)
        require_one_of(self.relaxation, "relaxation", RELAXATIONS)
        check_noise(self.budget, self.noise_scale, REPLACE_ONE_SENSITIVITY * self.items_per_user)
        require(
            self.threshold >= self.first_threshold,
            f"threshold must be at least the first one, {self.first_threshold}",
            self.threshold,
            "raise the threshold",
        )
        passing, most = (
            self._passing,
            histogram_limit(
                self.budget,
                self.relaxation,
                self.noise_scale,
                self.first_threshold,
                self.items_per_user,
                self.n_users,
            ),
        )
        require(
            Fraction(passing) <= most,
            f"an item of {self.first_threshold} users must pass threshold {self.threshold} with "
            f"probability at most {float(most):.6g}",
            f"{passing:.6g}",
            "raise the threshold",
        )

    @property
    def leak(self) -> float:
        """The chance that any item is published that one user made just frequent enough.

        This is the delta of indistinguishability, whichever relaxation was promised; rounded up.
        """
        return float_above(EXACT.multiply(self._passing, self.items_per_user))

    @property
    def _passing(self) -> Decimal:
        return passing_probability(self.noise_scale, self.threshold - self.first_threshold)


def passing_probability(noise_scale: float, distance: int) -> Decimal:
    """Return P(Y > distance) = a^(distance+1)/(1+a) for distance >= 0, rounded up."""
    loss = 1 / Fraction(noise_scale)
    tail = EXACT.divide(exp(-(distance + 1) * loss), EXACT.add(1, exp(-loss)))
    return EXACT.multiply(tail, UPWARDS)


def histogram_limit(
    budget: Budget,
    relaxation: str,
    noise_scale: float,
    first_threshold: int,
    items_per_user: int,
    n_users: int,
) -> Fraction:
    """Return how likely an item at the first threshold may pass the second (ZEAL theorems 1, 2).

    Indistinguishable: a user alone decides about at most m items, so delta/m.
    Probabilistic: of all users' U m items at most U m/tau are at the first threshold tau, so
    delta tau/(U m); and hiding one may change no probability by more than e^(1/scale), so
    1 - e^(-1/scale). The proofs are in docs/proofs/zealous.md.
    """
    if relaxation == INDISTINGUISHABLE:
        return budget.delta / items_per_user
    hidden = EXACT.multiply(exp(-1 / Fraction(noise_scale)), UPWARDS)
    return min(budget.delta * first_threshold / (n_users * items_per_user), 1 - Fraction(hidden))


Event = (
    HeadListDraw
    | OptinHistogram
    | ClientReport
    | SubsetReport
    | ItemHistogram
    | BoundedSum
    | BoundedReport
    | ClusterSums
    | ClusterReport
)
EVENT_TYPES: tuple[type, ...] = (
    HeadListDraw, OptinHistogram, ClientReport, SubsetReport, ItemHistogram, BoundedSum,
    BoundedReport, ClusterSums, ClusterReport,
)  # fmt: skip
