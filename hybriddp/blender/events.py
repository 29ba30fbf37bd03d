"""Events of a head list's opt-in groups: finding the list, and measuring it."""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, Self

from hybriddp.accounting.event import REPLACE_ONE_SENSITIVITY, Event, check_noise, known
from hybriddp.accounting.losses import Exclusive, Losses, noisy_counts
from hybriddp.errors import require, require_count
from hybriddp.noise.exponentials import EXACT, UPWARDS, exp, float_above
from hybriddp.params import Budget


@known
@dataclass(frozen=True, slots=True)
class HeadListDraw(Event):
    """Records were named whose count plus discrete Laplace noise exceeded a threshold.

    Their noisy counts may have been published with them: that costs no more. Counts are in units
    of 1/`records_per_user` of a user, of whom each has `records_per_user` units.
    """

    noise_scale: float
    threshold: int
    records_per_user: int = 1

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

    def losses(self) -> Losses:
        """Return the counts of records that both neighbours may name, and the others."""
        shared = noisy_counts(self.noise_scale, REPLACE_ONE_SENSITIVITY * self.records_per_user)
        return (shared, (Exclusive(self.singleton_probability), 1))

    def numbers(self) -> dict[str, Any]:
        """Return what it was drawn with."""
        return {
            "noise_scale": self.noise_scale.hex(),
            "threshold": self.threshold,
            "records_per_user": self.records_per_user,
        }

    @classmethod
    def of_numbers(cls, budget: Budget, numbers: Mapping[str, Any]) -> Self:
        """Build it again; ledgers of the first version knew one record a user only."""
        scale = float.fromhex(numbers["noise_scale"])
        return cls(budget, scale, numbers["threshold"], numbers.get("records_per_user", 1))


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


@known
@dataclass(frozen=True, slots=True)
class OptinHistogram(Event):
    """Counts over cells fixed beforehand were published with discrete Laplace noise.

    Replacing a user moves all counts together by at most `l1_sensitivity`; if that is 2, two
    counts by one each.
    """

    noise_scale: float
    l1_sensitivity: int = REPLACE_ONE_SENSITIVITY

    def __post_init__(self) -> None:
        require_count(self.l1_sensitivity, "l1_sensitivity")
        check_noise(self.budget, self.noise_scale, self.l1_sensitivity)

    def losses(self) -> Losses:
        """Return the noisy counts."""
        return (noisy_counts(self.noise_scale, self.l1_sensitivity),)

    def numbers(self) -> dict[str, Any]:
        """Return what it was drawn with."""
        return {"noise_scale": self.noise_scale.hex(), "l1_sensitivity": self.l1_sensitivity}

    @classmethod
    def of_numbers(cls, budget: Budget, numbers: Mapping[str, Any]) -> Self:
        """Build it again; ledgers of the first version knew two moving counts only."""
        moved = numbers.get("l1_sensitivity", REPLACE_ONE_SENSITIVITY)
        return cls(budget, float.fromhex(numbers["noise_scale"]), moved)
