"""Events of hybrid means: a curator's noisy sums, and clients' reports of a number."""

from dataclasses import dataclass
from typing import ClassVar

from hybriddp.bounded_reports import BitReport, WindowReport
from hybriddp.errors import require, require_count
from hybriddp.event_rules import Neighbours, check_noise
from hybriddp.mean_reports import LaplaceReport
from hybriddp.mixed_reports import MixedReport
from hybriddp.params import Budget


@dataclass(frozen=True, slots=True)
class BoundedSum:
    """Sums of people's integers were published with discrete Laplace noise.

    Each person is in one sum, with an integer from 0 to `largest`; who is in which is public.
    """

    budget: Budget
    noise_scale: float
    largest: int

    neighbours: ClassVar[Neighbours] = Neighbours.REPLACE_ONE_USER

    def __post_init__(self) -> None:
        require_count(self.largest, "largest")
        check_noise(self.budget, self.noise_scale, self.largest)


ReportLaw = LaplaceReport | BitReport | WindowReport | MixedReport
REPORT_LAWS: tuple[type, ...] = (LaplaceReport, BitReport, WindowReport, MixedReport)


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
            self.law.costs_at_most(self.budget.epsilon),
            f"a report must cost at most epsilon = {float(self.budget.epsilon):.6g}",
            "more",
            "build the law from the budget that is charged",
        )
