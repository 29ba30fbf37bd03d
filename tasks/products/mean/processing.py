"""The steps after the draws of a mean: each reads what earlier ones wrote, and writes its own file.

What is published is what they wrote. The files lie with the measurements, in a zone that is closed:
of one number they hold the votes of all, and no group's own mean.
"""

from collections.abc import Mapping
from typing import Any

import polars as pl

from hybriddp.mean.estimate import GroupMean, MeanEstimate
from hybriddp.mean.estimation import (
    KeyAgreement,
    KeyGroups,
    KeyMean,
    KeySums,
    Means,
    blend_groups,
    compare_groups,
    estimate_groups,
    estimate_means,
)
from hybriddp.mean.variance import VarianceEstimate
from tasks.measured.derived import read_derived, write_derived, written_or
from tasks.measured.stored import load_measurement
from tasks.products.mean.parameters import MeanParameters
from tasks.products.mean.tables import by_key
from tasks.release.run import Release

GROUPS, MEANS, AGREEMENT = "group_means", "blended_means", "agreement"

_GROUPS = {
    "key": pl.String, "optin_people": pl.Int64, "clients": pl.Int64,
    "optin_mean": pl.Float64, "optin_noise": pl.Float64, "optin_laplace_scale": pl.Float64,
    "client_mean": pl.Float64, "client_noise": pl.Float64, "client_laplace_scale": pl.Float64,
    "variance": pl.Float64, "variance_upper": pl.Float64,
    "variance_noise": pl.Float64, "variance_sampling": pl.Float64,
    "votes": pl.String,  # a whole number of any size
}  # fmt: skip
_MEANS = {
    "key": pl.String, "optin_people": pl.Int64, "clients": pl.Int64,
    "mean": pl.Float64, "optin_weight": pl.Float64, "squared_error": pl.Float64,
    "ci_low": pl.Float64, "ci_high": pl.Float64,
}  # fmt: skip
_AGREEMENT = {"key": pl.String, "p_value": pl.Float64}


def parameters_of(release: Release) -> MeanParameters:
    """Return the exact parameters that were reserved."""
    return MeanParameters.read(release.reservation.parameters)


def measured_of(release: Release) -> list[KeySums]:
    """Read the measurements, key by key."""
    return list(by_key({group: load_measurement(release, group) for group in release.groups}))


def write_groups(release: Release) -> None:
    """Write what each group says of every key."""
    found = estimate_groups(parameters_of(release).design, measured_of(release))
    rows = [
        (of.key, of.n_optin, of.n_clients, *_cells(of.trusted), *_cells(of.local),
         *_spread(of.variance), None if of.counted is None else str(of.counted))
        for of in found
    ]  # fmt: skip
    write_derived(release, GROUPS, pl.DataFrame(rows, schema=_GROUPS, orient="row"))


def write_means(release: Release) -> list[KeyMean]:
    """Write the mean of every key with its interval."""
    found = blend_groups(parameters_of(release).design, _read_groups(release))
    rows = []
    for mean in found:
        at = mean.estimate
        numbers = (at.value, at.weight, at.error, at.low, at.high)
        rows.append((mean.key, mean.n_optin, mean.n_clients, *numbers))
    write_derived(release, MEANS, pl.DataFrame(rows, schema=_MEANS, orient="row"))
    return found


def write_agreement(release: Release) -> list[KeyAgreement]:
    """Write how well the groups of every key agree."""
    found = compare_groups(parameters_of(release).design, _read_groups(release))
    write_derived(release, AGREEMENT, pl.DataFrame(found, schema=_AGREEMENT, orient="row"))
    return found


def estimated(release: Release) -> Means:
    """Return what the steps wrote; compute it where they have not, as of an old release."""
    return written_or(
        lambda: Means(_read_means(release), _read_agreement(release)),
        lambda: estimate_means(parameters_of(release).design, measured_of(release)),
    )


def _read_groups(release: Release) -> list[KeyGroups]:
    rows = read_derived(release, GROUPS).iter_rows(named=True)
    return [
        KeyGroups(
            row["key"],
            row["optin_people"],
            row["clients"],
            _group_mean(row, "optin", row["optin_people"]),
            _group_mean(row, "client", row["clients"]),
            _variance(row),
            None if row["votes"] is None else int(row["votes"]),
        )
        for row in rows
    ]


def _group_mean(row: Mapping[str, Any], group: str, n_people: int) -> GroupMean | None:
    if row[f"{group}_mean"] is None:
        return None
    numbers = (row[f"{group}_{name}"] for name in ("noise", "laplace_scale"))
    return GroupMean(row[f"{group}_mean"], n_people, *numbers)


def _variance(row: Mapping[str, Any]) -> VarianceEstimate | None:
    if row["variance"] is None:
        return None
    names = ("variance", "variance_upper", "variance_noise", "variance_sampling")
    return VarianceEstimate(*(row[name] for name in names))


def _read_means(release: Release) -> list[KeyMean]:
    rows = read_derived(release, MEANS).iter_rows()
    return [KeyMean(row[0], row[1], row[2], MeanEstimate(*row[3:])) for row in rows]


def _read_agreement(release: Release) -> list[KeyAgreement]:
    return [KeyAgreement(*row) for row in read_derived(release, AGREEMENT).iter_rows()]


def _cells(mean: GroupMean | None) -> tuple[float | None, ...]:
    return (None,) * 3 if mean is None else (mean.value, mean.noise, mean.laplace_scale)


def _spread(of: VarianceEstimate | None) -> tuple[float | None, ...]:
    return (None,) * 4 if of is None else (of.value, of.upper, of.noise, of.sampling)
