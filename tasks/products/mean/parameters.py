"""What decides the measurements of a mean, exactly, and what people pay for them."""

from fractions import Fraction
from functools import cached_property
from typing import Annotated, Literal

from hybriddp.mean.clients import GAUSSIAN
from hybriddp.mean.design import MeanDesign
from hybriddp.params import Budget
from hybriddp.randomizers.numbers.grid import ValueGrid
from tasks.ledger.charges import EPSILON_UNITS
from tasks.products.mean import NUMBERS, SQUARES, SUMS
from tasks.products.numbers.parameters import NumbersParameters, PerPerson
from tasks.products.parameters import Column, Exact
from tasks.verify.form import fitting, one_of, whole

Noise = Literal["laplace", "gaussian"]
Report = Literal["mixed", "bit", "window", "laplace", "gaussian"]
Weight = Literal["estimated-variance", "known-variance", "privacy", "naive"]


class MeanParameters(NumbersParameters):
    """What a mean is asked for."""

    strategy: Literal["mean"]
    mechanism_version: Literal["mean-1"]
    column: Column
    per_person: PerPerson
    upper: Exact
    by: Column | None
    min_group_size: Annotated[int, fitting(whole(1, 10**12))] | None = None
    one_number: Annotated[bool, fitting(one_of(True, False))]
    noise: Noise
    report: Report
    weight: Weight
    variance_share: Exact
    known_sd: Exact | None

    @property
    def key_column(self) -> str | None:
        """The public column of the roster that there is a mean for each value of, if any."""
        return self.by

    @cached_property
    def prices(self) -> dict[str, Budget]:
        """What a member of each group pays, in the order of the draws.

        Laplace noise needs no delta. The share for the squares is taken in whole units of the
        ledger, so that the two parts of an opt-in person's budget add up to it.
        """
        for_squares = Fraction(
            int(self.epsilon * self.variance_share * EPSILON_UNITS), EPSILON_UNITS
        )
        of_sums, of_reports = (
            self.delta if kind == GAUSSIAN else Fraction(0) for kind in (self.noise, self.report)
        )
        prices = {SUMS: Budget(self.epsilon - for_squares, of_sums)}
        if self.variance_share > 0:
            prices[SQUARES] = Budget(for_squares)
        prices[NUMBERS] = Budget(self.epsilon, of_reports)
        return prices

    @cached_property
    def design(self) -> MeanDesign:
        """The mechanisms and rules, as the library knows them."""
        prices = self.prices
        return MeanDesign(
            grid=ValueGrid(self.upper, self.grid),
            for_sums=prices[SUMS],
            for_squares=prices.get(SQUARES),
            for_reports=prices[NUMBERS],
            noise=self.noise,
            report=self.report,
            weight=self.weight,
            known_variance=None if self.known_sd is None else float(self.known_sd**2),
            is_one_number=self.one_number,
        )
