"""Events of hybrid means: a curator's noisy sums, and clients' reports of a number."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from hybriddp.accounting.event import Event, check_noise, known
from hybriddp.accounting.losses import Losses, WorstOf
from hybriddp.errors import UnknownEvent, require, require_count
from hybriddp.noise.gaussian import DiscreteGaussian
from hybriddp.noise.laplace import DiscreteLaplace
from hybriddp.params import Budget
from hybriddp.randomizers.numbers.bounded import BitReport, WindowReport
from hybriddp.randomizers.numbers.mixed import MixedReport
from hybriddp.randomizers.numbers.reports import GaussianReport, LaplaceReport

Noise = DiscreteLaplace | DiscreteGaussian
_NOISES: dict[str, type[Noise]] = {
    noise.__name__: noise for noise in (DiscreteLaplace, DiscreteGaussian)
}


@known
@dataclass(frozen=True, slots=True)
class BoundedSum(Event):
    """Sums of people's integers were published with discrete Laplace or Gaussian noise.

    Each person is in one sum, with an integer from 0 to `largest`; who is in which is public.
    """

    noise: Noise
    largest: int

    def __post_init__(self) -> None:
        require_count(self.largest, "largest")
        require(
            type(self.noise) in (DiscreteLaplace, DiscreteGaussian),
            "noise must be discrete Laplace or discrete Gaussian",
            type(self.noise).__name__,
            "give it a price first",
        )
        if isinstance(self.noise, DiscreteLaplace):
            check_noise(self.budget, self.noise.scale, self.largest)
            return
        delta = self.noise.delta(self.budget.epsilon, self.largest)
        require(
            delta <= self.budget.delta,
            f"noise at epsilon {float(self.budget.epsilon):.6g} must keep "
            f"delta <= {float(self.budget.delta):.6g}",
            f"{float(delta):.6g}",
            "raise the scale",
        )

    def losses(self) -> Losses:
        """Return the worst that keeps the promise."""
        return ((WorstOf(self.budget.epsilon, self.budget.delta), 1),)

    def numbers(self) -> dict[str, Any]:
        """Return what it was drawn with."""
        return {
            "noise": type(self.noise).__name__,
            "noise_scale": self.noise.scale.hex(),
            "largest": self.largest,
        }

    @classmethod
    def of_numbers(cls, budget: Budget, numbers: Mapping[str, Any]) -> Self:
        """Build it again."""
        noise = _NOISES[numbers["noise"]](float.fromhex(numbers["noise_scale"]))
        return cls(budget, noise, numbers["largest"])


ReportLaw = LaplaceReport | BitReport | WindowReport | MixedReport | GaussianReport
REPORT_LAWS: tuple[type[ReportLaw], ...] = (
    LaplaceReport, BitReport, WindowReport, MixedReport, GaussianReport,
)  # fmt: skip


@known
@dataclass(frozen=True, slots=True)
class BoundedReport(Event):
    """A client reported an integer from 0 to `law.grid` through a local randomizer."""

    law: ReportLaw

    def __post_init__(self) -> None:
        require(
            type(self.law) in REPORT_LAWS,  # a subclass could have lifted the checks
            f"law must be one of {[law.__name__ for law in REPORT_LAWS]}",
            type(self.law).__name__,
            "give it a price first",
        )
        require(
            self.law.keeps(self.budget),
            f"a report must cost at most epsilon = {float(self.budget.epsilon):.6g}, "
            f"delta = {float(self.budget.delta):.6g}",
            "more",
            "build the law from the budget that is charged",
        )

    def losses(self) -> Losses:
        """Return the worst that keeps the promise."""
        return ((WorstOf(self.budget.epsilon, self.budget.delta), 1),)

    def numbers(self) -> dict[str, Any]:
        """Return what it was drawn with."""
        return {"law": type(self.law).__name__, "grid": self.law.grid, **self.law.numbers()}

    @classmethod
    def of_numbers(cls, budget: Budget, numbers: Mapping[str, Any]) -> Self:
        """Build it again."""
        for law in REPORT_LAWS:
            if law.__name__ == numbers["law"]:
                return cls(budget, law.of_numbers(numbers["grid"], numbers))
        raise UnknownEvent("the ledger holds a report that this version does not know; update it.")
