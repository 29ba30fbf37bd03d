"""From the noisy sums of a release to its means: each group, their blend, and how they agree.

The three steps of a release of means, in order. Simulation, release and verification call them.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from hybriddp.mean.clients import ReportSums
from hybriddp.mean.design import MeanDesign
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
from hybriddp.mean.variance import VarianceEstimate, variance_from_pairs, variance_from_reports


class KeySums(NamedTuple):
    """The measurements of one key."""

    key: str
    n_optin: int
    noisy_sum: int
    n_pairs: int
    noisy_squares: int
    reports: ReportSums  # of this key alone


@dataclass(frozen=True, slots=True)
class KeyGroups:
    """What both groups of one key say; of one number only the votes of all are counted.

    A group's mean is in the column's unit, the variance of people's numbers in squares of grid
    steps.
    """

    key: str
    n_optin: int
    n_clients: int
    trusted: GroupMean | None = None  # nobody opted in
    local: GroupMean | None = None  # nobody reported
    variance: VarianceEstimate | None = None  # neither known nor estimated
    counted: int | None = None  # the noisy sum of all votes


class KeyMean(NamedTuple):
    """The mean of one key, as it is published, but for rounding."""

    key: str
    n_optin: int
    n_clients: int
    estimate: MeanEstimate


class KeyAgreement(NamedTuple):
    """How likely groups who are alike differ as much as one key's do, at most; None: unknown."""

    key: str
    p_value: float | None


class Means(NamedTuple):
    """Everything that is published of a release's measurements."""

    means: list[KeyMean]
    agreements: list[KeyAgreement]


def estimate_groups(design: MeanDesign, measured: Iterable[KeySums]) -> list[KeyGroups]:
    """Return what the groups of every key say that has people.

    Privacy claim: none; post-processing of noisy sums and reports.
    """
    there = (sums for sums in measured if sums.n_optin + int(sums.reports.n_reports[0]) > 0)
    return [_groups(design, sums) for sums in there]


def blend_groups(design: MeanDesign, groups: Iterable[KeyGroups]) -> list[KeyMean]:
    """Return the mean of every key.

    Privacy claim: none; post-processing of noisy means.
    """
    return [KeyMean(of.key, of.n_optin, of.n_clients, _blended(design, of)) for of in groups]


def compare_groups(design: MeanDesign, groups: Iterable[KeyGroups]) -> list[KeyAgreement]:
    """Return how well the groups of every key agree that has two means.

    Privacy claim: none; post-processing of noisy means.
    """
    return [KeyAgreement(of.key, _agreement(design, of)) for of in groups]


def estimate_means(design: MeanDesign, measured: Iterable[KeySums]) -> Means:
    """Do all three steps.

    Privacy claim: none; post-processing of noisy sums and reports.
    """
    groups = estimate_groups(design, measured)
    return Means(blend_groups(design, groups), compare_groups(design, groups))


def together(agreements: Sequence[KeyAgreement]) -> tuple[int, float | None]:
    """Return how many keys were compared, and a p-value over all: the least likely (Bonferroni)."""
    compared = [of.p_value for of in agreements if of.p_value is not None]
    return len(compared), min(1.0, len(compared) * min(compared)) if compared else None


def _groups(design: MeanDesign, sums: KeySums) -> KeyGroups:
    sizes = sums.key, sums.n_optin, int(sums.reports.n_reports[0])
    _, n_optin, n_clients = sizes
    if design.is_one_number and n_optin and n_clients:
        ballot = design.ballot(n_optin, n_clients)
        votes = ballot.count(sums.noisy_sum, _sum_of_reports(design, sums.reports))
        return KeyGroups(*sizes, counted=votes)
    variance, trusted, local = _variance(design, sums), None, None
    if n_optin:
        trusted = trusted_mean(sums.noisy_sum, n_optin, design.sums.noise, design.grid)
    if n_clients:
        local = local_mean(sums.reports, 0, design.reports.law, design.grid, variance)
    return KeyGroups(*sizes, trusted, local, variance)


def _blended(design: MeanDesign, of: KeyGroups) -> MeanEstimate:
    upper = float(design.grid.upper)
    if of.counted is not None:
        return design.ballot(of.n_optin, of.n_clients).estimate(of.counted)
    if of.local is None:
        assert of.trusted is not None
        return alone(of.trusted, 1.0, upper)
    if of.trusted is None:
        return alone(of.local, 0.0, upper)
    return blend(of.trusted, of.local, upper, design.weight, _scaled(design, of))


def _agreement(design: MeanDesign, of: KeyGroups) -> float | None:
    if of.trusted is None or of.local is None:
        return None
    upper, scaled = float(design.grid.upper), _scaled(design, of)
    return agreement(of.trusted, of.local, upper, upper**2 / 4 if scaled is None else scaled.ample)


def _scaled(design: MeanDesign, of: KeyGroups) -> VarianceEstimate | None:
    """Return the variance in squares of the column's unit."""
    return None if of.variance is None else of.variance.scaled(design.grid.step)


def _sum_of_reports(design: MeanDesign, reports: ReportSums) -> int:
    """Return the exact sum of integer reports; powers are about the middle of the grid."""
    n_reports = int(reports.n_reports[0])
    return int(reports.powers[0, 0]) + n_reports * design.grid.n_steps // 2


def _variance(design: MeanDesign, sums: KeySums) -> VarianceEstimate | None:
    """Return how spread out numbers are, in squares of grid steps: known, or estimated."""
    n_steps = design.grid.n_steps
    if design.known_variance is not None:
        return VarianceEstimate(design.known_variance / design.grid.step**2, float(n_steps))
    if design.weight != ESTIMATED:
        return None
    estimates = [variance_from_reports(sums.reports, 0, design.reports.law.noise, n_steps)]
    if design.squares is not None:
        noise = design.squares.noise.variance
        estimates.append(variance_from_pairs(sums.noisy_squares, sums.n_pairs, noise, n_steps))
    there = [estimate for estimate in estimates if estimate is not None]
    if len(there) == 2:
        return there[0].combined(there[1])
    return there[0] if there else None
