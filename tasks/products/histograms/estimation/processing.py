"""The step after the draws of histograms: it reads the measurements, and writes its files.

What is published is what it wrote, but for what is blocked.
"""

import polars as pl

from hybriddp.zealous.item_kinds import ITEM_COLUMNS
from tasks.measured.derived import read_derived, write_derived, written_or
from tasks.measured.stored import load_measurement
from tasks.products.histograms.estimation.tables import MEASURED, Ranked, rank_items
from tasks.products.histograms.parameters import ZealousParameters
from tasks.release.run import Release


def parameters_of(release: Release) -> ZealousParameters:
    """Return the exact parameters that were reserved."""
    return ZealousParameters.read(release.reservation.parameters)


def write_rankings(release: Release) -> dict[str, Ranked]:
    """Write the items of each histogram in the order of their noisy counts."""
    found = _rankings(release)
    for kind, ranked in found.items():
        schema = {name: pl.String for name in ITEM_COLUMNS[kind]} | {MEASURED: pl.Int64}
        frame = pl.DataFrame(ranked, schema=schema, orient="row")
        write_derived(release, f"{kind}_ranked", frame)
    return found


def estimated(release: Release) -> dict[str, Ranked]:
    """Return what the step wrote; compute it where it has not, as of an old release."""
    kinds = parameters_of(release).histograms
    return written_or(
        lambda: {kind: _read(release, kind) for kind in kinds}, lambda: _rankings(release)
    )


def _rankings(release: Release) -> dict[str, Ranked]:
    kinds = parameters_of(release).histograms
    return {kind: rank_items(kind, load_measurement(release, kind)) for kind in kinds}


def _read(release: Release, kind: str) -> Ranked:
    return read_derived(release, f"{kind}_ranked").to_dicts()
