"""Events of hybrid means: a curator's noisy sums, and clients' reports of a number."""

from dataclasses import dataclass
from typing import ClassVar

from hybriddp.bounded_reports import BitReport, WindowReport
from hybriddp.errors import require, require_count
from hybriddp.event_rules import Neighbours, check_noise
from hybriddp.gaussian import DiscreteGaussian
from hybriddp.mean_reports import GaussianReport, LaplaceReport
from hybriddp.mixed_reports import MixedReport
from hybriddp.noise import DiscreteLaplace
from hybriddp.params import Budget

Noise = DiscreteLaplace | DiscreteGaussian


@dataclass(frozen=True, slots=True)
class BoundedSum:
    """Sums of people's integers were published with discrete Laplace or Gaussian noise.

    Each person is in one sum, with an integer from 0 to `largest`; who is in which is public.
    """

    budget: Budget
    noise: Noise
    largest: int

    neighbours: ClassVar[Neighbours] = Neighbours.REPLACE_ONE_USER

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


ReportLaw = LaplaceReport | BitReport | WindowReport | MixedReport | GaussianReport
REPORT_LAWS: tuple[type, ...] = (
    LaplaceReport, BitReport, WindowReport, MixedReport, GaussianReport,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class BoundedReport:
    """A client reported an integer from 0 to `law.grid` through a local randomizer."""

    budget: Budget
    law: ReportLaw

    neighbours: ClassVar[Neighbours] = Neighbours.REPLACE_ONE_USER

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
