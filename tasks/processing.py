"""The steps after the draws, each with its own file beside the measurements.

Files in `derived/` are what a person opens to follow a release; they are made again at will.
"""

from collections.abc import Iterator, Mapping
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa

from hybriddp.crosscheck import CrossCheck
from hybriddp.estimate import Estimate, IntervalEstimate
from tasks.groups import CLIENTS, HEADLIST
from tasks.home import write_whole
from tasks.left_out import left_out
from tasks.left_out_file import without
from tasks.listing import Listing
from tasks.measured import load_measurement
from tasks.postprocess import Measurements, Strategy, publish_levels, strategy_of
from tasks.postprocess_common import Bounded, Facts, Levels
from tasks.run import Release

Cells = list[tuple[str | None, str | None]]


def facts_of(release: Release) -> Facts:
    """Return the public numbers that post-processing needs."""
    sizes = {g: release.group_size(g) for g in release.groups if g != CLIENTS}
    return Facts(release.params, sizes)


def trim_head_list(release: Release) -> Listing:
    """Keep the likeliest queries; write the list that clients report on."""
    listing = published_listing(release)
    _write(release, "head_list", pl.from_arrow(listing.table()))
    return listing


def published_listing(release: Release) -> Listing:
    """Return the list as clients know it."""
    facts = facts_of(release)
    return strategy_of(facts).published_listing(Stored(release), facts)


def denoise_reports(release: Release) -> None:
    """Write what the clients say, and what the opt-in groups say."""
    strategy, measured, facts = _everything(release)
    listing = strategy.published_listing(measured, facts)
    _write_levels(release, "client", listing, strategy.client_levels(measured, facts))
    _write_levels(release, "optin", listing, strategy.optin_levels(measured, facts))


def blend_estimates(release: Release) -> None:
    """Write what all groups say together."""
    strategy, measured, facts = _everything(release)
    listing = strategy.published_listing(measured, facts)
    _write_levels(release, "blended", listing, strategy.blended_levels(measured, facts))


def project_estimates(release: Release) -> None:
    """Write the nearest distributions."""
    listing = published_listing(release)
    strategy = strategy_of(facts_of(release))
    projected = strategy.projected_levels(_read_levels(release, "blended"), listing)
    _write_levels(release, "projected", listing, projected)


def estimate_intervals(release: Release) -> None:
    """Write the distributions with their intervals."""
    strategy, measured, facts = _everything(release)
    listing = strategy.published_listing(measured, facts)
    bounded = strategy.with_intervals(_read_levels(release, "projected"), measured, facts)
    _write_levels(release, "published", listing, bounded)


def check_groups_agree(release: Release) -> CrossCheck:
    """Write how far the opt-in groups and the clients are apart."""
    strategy, measured, facts = _everything(release)
    listing, check = strategy.published_listing(measured, facts), cross_check_of(release)
    frame = pl.DataFrame(
        {
            "query": pl.Series(listing.record_queries, dtype=pl.String),
            "url": pl.Series(listing.record_urls, dtype=pl.String),
            "z": check.z,
            "p_value": check.p_values,
            "is_suspicious": check.is_suspicious,
        }
    )
    _write(release, "cross_check", frame)
    return check


def cross_check_of(release: Release) -> CrossCheck:
    """Compare the groups, from the measurements."""
    strategy, measured, facts = _everything(release)
    return strategy.cross_check(measured, facts)


def read_published(release: Release) -> tuple[Listing, Bounded]:
    """Return what is published, from the measurements, with the list that it is about."""
    return publish_levels(Stored(release), facts_of(release))


def _everything(release: Release) -> tuple[Strategy, Measurements, Facts]:
    facts = facts_of(release)
    return strategy_of(facts), Stored(release), facts


class Stored(Mapping[str, pa.Table]):
    """The measurements of a release, each read and checked when it is asked for."""

    def __init__(self, release: Release) -> None:
        self._release = release

    def __getitem__(self, group: str) -> pa.Table:
        table = load_measurement(self._release, group)
        return without(table, left_out(self._release)) if group == HEADLIST else table

    def __iter__(self) -> Iterator[str]:
        return iter(self._release.groups)

    def __len__(self) -> int:
        return len(self._release.groups)


def _write_levels(release: Release, name: str, listing: Listing, levels: Levels | Bounded) -> None:
    _write(release, f"{name}_records", _frame(listing.cells, levels.records))
    queries: Cells = [(query, None) for query in listing.listed_queries]
    _write(release, f"{name}_queries", _frame([*queries, (None, None)], levels.queries))


def _read_levels(release: Release, name: str) -> Levels:
    return Levels(*(_read(release, f"{name}_{level}") for level in ("records", "queries")))


def _frame(cells: Cells, estimate: Estimate) -> pl.DataFrame:
    columns: dict[str, Any] = {
        "query": pl.Series([query for query, _ in cells], dtype=pl.String),
        "url": pl.Series([url for _, url in cells], dtype=pl.String),
        "probability": estimate.values,
        "variance": estimate.variances,
    }
    if isinstance(estimate, IntervalEstimate):
        columns |= {"ci_low": estimate.low, "ci_high": estimate.high}
    return pl.DataFrame(columns)


def _path(release: Release, name: str) -> Path:
    return release.folder / "derived" / f"{name}.parquet"


def _write(release: Release, name: str, frame: pl.DataFrame | pl.Series) -> None:
    assert isinstance(frame, pl.DataFrame)
    buffer = BytesIO()
    frame.write_parquet(buffer)
    write_whole(_path(release, name), buffer.getvalue())


def _read(release: Release, name: str) -> Estimate:
    frame = pl.read_parquet(_path(release, name), glob=False)
    return Estimate(
        np.asarray(frame["probability"].to_numpy()), np.asarray(frame["variance"].to_numpy())
    )
