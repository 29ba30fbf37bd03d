"""A whole release of means: its mechanisms and rules, from exact public parameters."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache

from hybriddp.mean.amplification import Certified
from hybriddp.mean.clients import GAUSSIAN, ClientMeanMechanism
from hybriddp.mean.trusted import BoundedSumMechanism
from hybriddp.mean.votes import Ballot
from hybriddp.noise.gaussian import DiscreteGaussian
from hybriddp.params import Budget
from hybriddp.randomizers.numbers.grid import ValueGrid
from hybriddp.randomizers.numbers.reports import GaussianReport

# How many people of both groups a key has.
Sizes = tuple[int, int]


@dataclass(frozen=True)
class MeanDesign:
    """What is drawn of whom, and how both groups become one mean; no value of anybody is in it."""

    grid: ValueGrid
    for_sums: Budget
    for_squares: Budget | None  # nothing, if nobody pays for them
    for_reports: Budget
    noise: str  # of the curator
    report: str
    weight: str
    known_variance: float | None = None  # that the operator knew beforehand
    is_one_number: bool = False  # nothing else of both groups is published

    @cached_property
    def sums(self) -> BoundedSumMechanism:
        """What the curator draws of opt-in people's numbers."""
        if self.noise == GAUSSIAN:
            return BoundedSumMechanism.gaussian(self.for_sums, self.grid.n_steps)
        return BoundedSumMechanism.for_budget(self.for_sums, self.grid.n_steps)

    @cached_property
    def squares(self) -> BoundedSumMechanism | None:
        """What the curator draws of the squared differences of pairs, if that is paid for."""
        if self.for_squares is None:
            return None
        return BoundedSumMechanism.for_budget(self.for_squares, self.grid.n_steps**2)

    @cached_property
    def reports(self) -> ClientMeanMechanism:
        """What a client reports."""
        return ClientMeanMechanism.for_budget(self.for_reports, self.report, self.grid.n_steps)

    def ballot(self, n_optin: int, n_clients: int) -> Ballot:
        """Return what the votes of one key are about."""
        noise, law = self.sums.noise, self.reports.law
        assert isinstance(noise, DiscreteGaussian)
        assert isinstance(law, GaussianReport)
        return Ballot(
            grid=self.grid,
            noise_trusted=noise,
            noise_local=DiscreteGaussian(law.scale),
            n_trusted=n_optin,
            n_local=n_clients,
            rule=self.weight,
            known_variance=self.known_variance or 0.0,
        )


def certified_against(
    design: MeanDesign, sizes: Sequence[Sizes], coalition: Fraction
) -> Certified | None:
    """Return what is proved for every key against those who see the release and nothing else.

    None if nothing beyond the first guarantee is. That one bounds what anybody loses in any case,
    so it is what a key states that has people of one group only.

    Args:
        coalition: The part of the clients who share what they know.
    """
    if not design.is_one_number:
        return None
    # A coalition may be anywhere, so all of it may be in one key.
    n_adversaries = math.ceil(coalition * sum(n_clients for _, n_clients in sizes))
    proved = [_certified(design, of_key, n_adversaries) for of_key in sizes]
    return Certified(
        design.sums.budget,
        max(found.epsilon_trusted for found in proved),
        max(found.epsilon_local for found in proved),
    )


def _certified(design: MeanDesign, sizes: Sizes, n_adversaries: int) -> Certified:
    budget, (n_optin, n_clients) = design.sums.budget, sizes
    if n_optin == 0 or n_clients == 0:
        return Certified(budget, budget.epsilon, budget.epsilon)
    ballot = design.ballot(n_optin, n_clients)
    if n_adversaries < n_clients:
        return _proved(ballot, budget, n_adversaries)
    # A client who is left is hidden by their own noise and the curator's; if nobody is left, opt-in
    # people are hidden by the curator's alone.
    last = _proved(ballot, budget, n_clients - 1)
    return Certified(budget, budget.epsilon, last.epsilon_local)


@lru_cache(maxsize=1024)  # asked for the manifest, the label and the checks; a tenth of a second
def _proved(ballot: Ballot, budget: Budget, n_adversaries: int) -> Certified:
    return ballot.certified(budget, n_adversaries)
