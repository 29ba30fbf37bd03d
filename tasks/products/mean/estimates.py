"""From measurements of a mean to what is published: pure, and the same for auditors."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from hybriddp.errors import HybridDPError
from hybriddp.mean.clients import GAUSSIAN, ClientMeanMechanism, ReportSums
from hybriddp.mean.estimate import (
    ESTIMATED,
    GroupMean,
    MeanEstimate,
    agreement,
    alone,
    blend,
    local_mean,
    trusted_mean,
)
from hybriddp.mean.trusted import BoundedSumMechanism
from hybriddp.mean.variance import VarianceEstimate, variance_from_pairs, variance_from_reports
from hybriddp.mean.votes import Ballot
from hybriddp.noise.gaussian import DiscreteGaussian
from hybriddp.randomizers.numbers.grid import ValueGrid
from hybriddp.randomizers.numbers.reports import GaussianReport
from tasks.products.mean import NUMBERS, SQUARES, SUMS
from tasks.products.mean.prices import mean_prices

Measurements = Mapping[str, pa.Table]


@dataclass(frozen=True)
class MeanLaws:
    """The mechanisms of a release of means, rebuilt from its public parameters."""

    parameters: Mapping[str, Any]

    @cached_property
    def grid(self) -> ValueGrid:
        """Where numbers are measured."""
        return ValueGrid(Fraction(self.parameters["upper"]), self.parameters["grid"])

    @cached_property
    def sums(self) -> BoundedSumMechanism:
        """What the curator draws of opt-in people's numbers."""
        budget = mean_prices(self.parameters)[SUMS]
        if self.parameters["noise"] == GAUSSIAN:
            return BoundedSumMechanism.gaussian(budget, self.grid.n_steps)
        return BoundedSumMechanism.for_budget(budget, self.grid.n_steps)

    @cached_property
    def squares(self) -> BoundedSumMechanism | None:
        """What the curator draws of the squared differences of pairs, if that is paid for."""
        budget = mean_prices(self.parameters).get(SQUARES)
        if budget is None:
            return None
        return BoundedSumMechanism.for_budget(budget, self.grid.n_steps**2)

    @cached_property
    def reports(self) -> ClientMeanMechanism:
        """What a client reports."""
        budget = mean_prices(self.parameters)[NUMBERS]
        return ClientMeanMechanism.for_budget(budget, self.parameters["report"], self.grid.n_steps)

    @property
    def known_variance(self) -> float | None:
        """The square of the standard deviation that the operator knew beforehand."""
        known = self.parameters["known_sd"]
        return None if known is None else float(Fraction(known) ** 2)


class KeyMean(NamedTuple):
    """What is published of one key, before rounding; `agreement` is None if it is not compared."""

    key: str
    n_optin: int
    n_clients: int
    estimate: MeanEstimate
    agreement: float | None


class _KeySums(NamedTuple):
    """The measurements of one key."""

    n_optin: int
    noisy_sum: int
    n_pairs: int
    noisy_squares: int
    reports: ReportSums


def estimate_means(parameters: Mapping[str, Any], measured: Measurements) -> list[KeyMean]:
    """Return the mean of every key that has people, in the order of the measurements."""
    laws = MeanLaws(parameters)
    found = []
    for key, sums in _by_key(measured):
        n_clients = int(sums.reports.n_reports[0])
        if sums.n_optin + n_clients > 0:
            estimate, agreed = _estimate(laws, sums, n_clients)
            found.append(KeyMean(key, sums.n_optin, n_clients, estimate, agreed))
    return found


def _estimate(laws: MeanLaws, sums: _KeySums, n_clients: int) -> tuple[MeanEstimate, float | None]:
    upper = float(laws.grid.upper)
    if laws.parameters["one_number"] and sums.n_optin and n_clients:
        ballot = ballot_of(laws, sums.n_optin, n_clients)
        counted = ballot.count(sums.noisy_sum, _sum_of_reports(laws, sums.reports))
        return ballot.estimate(counted), None
    variance = _variance(laws, sums)
    trusted, local = _groups(laws, sums, variance)
    if local is None:
        assert trusted is not None
        return alone(trusted, 1.0, upper), None
    if trusted is None:
        return alone(local, 0.0, upper), None
    scaled = None if variance is None else variance.scaled(laws.grid.step)
    spread = upper**2 / 4 if scaled is None else scaled.ample
    return (
        blend(trusted, local, upper, laws.parameters["weight"], scaled),
        agreement(trusted, local, upper, spread),
    )


def ballot_of(laws: MeanLaws, n_optin: int, n_clients: int) -> Ballot:
    """Return what the votes of one key are about."""
    noise, law = laws.sums.noise, laws.reports.law
    assert isinstance(noise, DiscreteGaussian)
    assert isinstance(law, GaussianReport)
    return Ballot(
        grid=laws.grid,
        noise_trusted=noise,
        noise_local=DiscreteGaussian(law.scale),
        n_trusted=n_optin,
        n_local=n_clients,
        rule=laws.parameters["weight"],
        known_variance=laws.known_variance or 0.0,
    )


def _sum_of_reports(laws: MeanLaws, reports: ReportSums) -> int:
    """Return the exact sum of integer reports; powers are about the middle of the grid."""
    n_reports = int(reports.n_reports[0])
    return int(reports.powers[0, 0]) + n_reports * laws.grid.n_steps // 2


def _groups(
    laws: MeanLaws, sums: _KeySums, variance: VarianceEstimate | None
) -> tuple[GroupMean | None, GroupMean | None]:
    """Return both groups' means; None of a group that has nobody."""
    trusted = local = None
    if sums.n_optin:
        trusted = trusted_mean(sums.noisy_sum, sums.n_optin, laws.sums.noise, laws.grid)
    if int(sums.reports.n_reports[0]):
        local = local_mean(sums.reports, 0, laws.reports.law, laws.grid, variance)
    return trusted, local


def _variance(laws: MeanLaws, sums: _KeySums) -> VarianceEstimate | None:
    """Return how spread out numbers are, in squares of grid steps: known, or estimated."""
    n_steps = laws.grid.n_steps
    if laws.known_variance is not None:
        return VarianceEstimate(laws.known_variance / laws.grid.step**2, float(n_steps))
    if laws.parameters["weight"] != ESTIMATED:
        return None
    estimates = [variance_from_reports(sums.reports, 0, laws.reports.law.noise, n_steps)]
    if laws.squares is not None:
        noise = laws.squares.noise.variance
        estimates.append(variance_from_pairs(sums.noisy_squares, sums.n_pairs, noise, n_steps))
    there = [estimate for estimate in estimates if estimate is not None]
    if len(there) == 2:
        return there[0].combined(there[1])
    return there[0] if there else None


def _by_key(measured: Measurements) -> Iterator[tuple[str, _KeySums]]:
    """Put the measurements of each key together; every table has all keys in one order."""
    sums, reports = measured[SUMS].to_pylist(), measured[NUMBERS].to_pylist()
    nothing = [{"key": row["key"], "n_pairs": 0, "noisy_sum": 0} for row in sums]
    squares = measured[SQUARES].to_pylist() if SQUARES in measured else nothing
    for of_sum, of_square, of_reports in zip(sums, squares, reports, strict=True):
        if len({row["key"] for row in (of_sum, of_square, of_reports)}) > 1:
            raise HybridDPError("the measurements of a mean are not about the same keys.")
        powers = np.array([[of_reports[f"power_{power}"]] for power in (1, 2, 3, 4)])
        yield (
            of_sum["key"],
            _KeySums(
                of_sum["n_people"],
                of_sum["noisy_sum"],
                of_square["n_pairs"],
                of_square["noisy_sum"],
                ReportSums(np.array([of_reports["n_reports"]]), powers),
            ),
        )
