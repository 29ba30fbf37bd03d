"""The event of a published histogram of items (ZEALOUS)."""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, Self

from hybriddp.accounting.event import REPLACE_ONE_SENSITIVITY, Event, check_noise, known
from hybriddp.accounting.losses import Exclusive, Losses, OneCount
from hybriddp.errors import require, require_count, require_one_of
from hybriddp.noise.exponentials import EXACT, UPWARDS, exp, float_above
from hybriddp.params import Budget

# Which promise an (epsilon, delta) of a published histogram means.
PROBABILISTIC, INDISTINGUISHABLE = "probabilistic", "indistinguishable"
RELAXATIONS = (PROBABILISTIC, INDISTINGUISHABLE)
_COUNTS = ("first_threshold", "threshold", "items_per_user", "n_users")


@known
@dataclass(frozen=True, slots=True)
class ItemHistogram(Event):
    """Items were published with discrete Laplace noise if enough users hold them (ZEALOUS).

    Each of `n_users` users holds at most `items_per_user` different items, each once. Counts below
    `first_threshold` were dropped, noise was added, and what did not exceed `threshold` was
    dropped, too.
    """

    relaxation: str
    noise_scale: float
    first_threshold: int
    threshold: int
    items_per_user: int
    n_users: int

    def __post_init__(self) -> None:
        for name in _COUNTS:
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

    def losses(self) -> Losses:
        """Return the counts of shared items, of which up to 2 m move by one, and the others."""
        n_counts = REPLACE_ONE_SENSITIVITY * self.items_per_user
        return ((OneCount(self.noise_scale), n_counts), (Exclusive(self.leak), 1))

    def numbers(self) -> dict[str, Any]:
        """Return what it was drawn with."""
        counts = {name: getattr(self, name) for name in _COUNTS}
        return {"relaxation": self.relaxation, "noise_scale": self.noise_scale.hex(), **counts}

    @classmethod
    def of_numbers(cls, budget: Budget, numbers: Mapping[str, Any]) -> Self:
        """Build it again."""
        scale = float.fromhex(numbers["noise_scale"])
        return cls(budget, numbers["relaxation"], scale, *(numbers[name] for name in _COUNTS))


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
