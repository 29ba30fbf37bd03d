"""The steps after the draws: each reads what earlier ones wrote, and writes its own files.

What is published is what the last of them wrote.
"""

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from hybriddp.blender.estimation.crosscheck import CrossCheck
from hybriddp.blender.estimation.estimates import Estimate, IntervalEstimate
from hybriddp.blender.estimation.levels import Bounded, Levels, Sides
from hybriddp.blender.estimation.pipeline import Strategy, strategy_of
from hybriddp.params import PAPER
from tasks.gates.blocklist import left_out
from tasks.ledger.rules import Kind
from tasks.measured.derived import read_derived, write_derived, written_or
from tasks.measured.stored import load_measurement
from tasks.products.head_list import CLIENTS, FINDING, HEADLIST, HISTOGRAM
from tasks.products.head_list.estimation.listing import Listing, Measured
from tasks.products.head_list.estimation.recompute import estimated_from
from tasks.products.head_list.measuring.left_out_file import without
from tasks.products.head_list.run import params_of
from tasks.release.run import Release

if TYPE_CHECKING:
    from tasks.products.head_list.series.measured import MeasuredSeason

Cells = list[tuple[str | None, str | None]]


def measured_of(
    release: Release, groups: Collection[str] | None = None
) -> "Measured | MeasuredSeason":
    """Read the measurements that are there, without the queries that are left out.

    Those of a week of a series are read with the weeks before it.
    """
    state, wanted = release.state, release.groups if groups is None else groups
    drawn = [group for group in wanted if state.has(Kind.DRAWN, group)]
    tables = {group: load_measurement(release, group) for group in drawn}
    for group in FINDING:
        if group in tables:
            tables[group] = without(tables[group], left_out(release))
    if release.reservation.place is not None:
        from tasks.products.head_list.series.reading import measured_season

        return measured_season(release, tables)
    sizes = {group: release.group_size(group) for group in release.groups if group != CLIENTS}
    return Measured.of(params_of(release), sizes, tables)


def chosen_listing(release: Release) -> Listing:
    """Choose the likeliest queries; with strategy `paper` T has measured them."""
    params = params_of(release)
    groups = (HEADLIST, HISTOGRAM) if params.strategy == PAPER else FINDING
    return measured_of(release, groups).listing(params)


def trim_head_list(release: Release) -> Listing:
    """Keep the likeliest queries; write the list that clients report on."""
    listing = chosen_listing(release)
    frame = pl.from_arrow(listing.table())
    assert isinstance(frame, pl.DataFrame)
    write_derived(release, "head_list", frame, of=_optin_groups(release))
    return listing


def published_listing(release: Release) -> Listing:
    """Return the list as clients know it: what was trimmed."""

    def read() -> Listing:
        return Listing.of(read_derived(release, "head_list", of=_optin_groups(release)).rows())

    return written_or(read, lambda: chosen_listing(release))


def denoise_reports(release: Release) -> None:
    """Write what the clients say, and what the opt-in groups say."""
    strategy, measured, listing = _begin(release)
    sides = strategy.denoise(params_of(release), listing.head_list, measured.draws)
    _write(release, "client", listing, sides.clients)
    _write(release, "optin", listing, sides.optin)


def blend_estimates(release: Release) -> None:
    """Write what all groups say together."""
    strategy, measured, listing = _begin(release)
    blended = strategy.blend(
        params_of(release), listing.head_list, measured.draws, _read_sides(release)
    )
    _write(release, "blended", listing, blended)


def project_estimates(release: Release) -> None:
    """Write the nearest distributions."""
    listing = published_listing(release)
    projected = strategy_for(release).project(listing.head_list, _read(release, "blended"))
    _write(release, "projected", listing, projected)


def estimate_intervals(release: Release) -> None:
    """Write the distributions with their intervals."""
    bounded = strategy_for(release).bound(_read(release, "blended"), _read(release, "projected"))
    _write(release, "published", published_listing(release), bounded)


def check_groups_agree(release: Release) -> CrossCheck:
    """Write how far the opt-in groups and the clients are apart."""
    strategy, measured, listing = _begin(release)
    sides, blended = _read_sides(release), _read(release, "blended")
    check = strategy.check(params_of(release), listing.head_list, measured.draws, sides, blended)
    frame = pl.DataFrame(
        {
            "query": pl.Series(listing.record_queries, dtype=pl.String),
            "url": pl.Series(listing.record_urls, dtype=pl.String),
            "z": check.z,
            "p_value": check.p_values,
            "is_suspicious": check.is_suspicious,
        }
    )
    write_derived(release, "cross_check", frame)
    summary = {"n_records": [check.n_records], "chi_square": [check.chi_square],
               "p_value": [check.p_value]}  # fmt: skip
    write_derived(release, "cross_check_summary", pl.DataFrame(summary))
    return check


def estimated(release: Release) -> tuple[Listing, Bounded, CrossCheck]:
    """Return what the steps wrote; compute it where they have not, as of an old release."""
    return written_or(lambda: _written(release), lambda: _computed(release))


def _computed(release: Release) -> tuple[Listing, Bounded, CrossCheck]:
    return estimated_from(params_of(release), measured_of(release))


def _written(release: Release) -> tuple[Listing, Bounded, CrossCheck]:
    published = _read(release, "published")
    records, queries = published.records, published.queries
    assert isinstance(records, IntervalEstimate)
    assert isinstance(queries, IntervalEstimate)
    by_record = read_derived(release, "cross_check")
    summary = read_derived(release, "cross_check_summary").row(0, named=True)
    check = CrossCheck(
        by_record["z"].to_numpy(),
        by_record["p_value"].to_numpy(),
        by_record["is_suspicious"].to_numpy(),
        **{name: summary[name] for name in ("chi_square", "n_records", "p_value")},
    )
    return published_listing(release), Bounded(records, queries), check


def _optin_groups(release: Release) -> list[str]:
    return [group for group in release.groups if group != CLIENTS]


def _begin(release: Release) -> "tuple[Strategy[Any], Measured | MeasuredSeason, Listing]":
    measured, params = measured_of(release), params_of(release)
    return measured.strategy(params), measured, measured.listing(params)


def strategy_for(release: Release) -> Strategy[Any]:
    """Return the steps of a release's estimation."""
    if release.reservation.place is None:
        return strategy_of(params_of(release))
    from tasks.products.head_list.series.measured import STRATEGY

    return STRATEGY


def _write(release: Release, name: str, listing: Listing, levels: Levels | Bounded) -> None:
    write_derived(release, f"{name}_records", _frame(listing.cells, levels.records))
    queries: Cells = [(query, None) for query in listing.listed_queries]
    write_derived(release, f"{name}_queries", _frame([*queries, (None, None)], levels.queries))


def _read_sides(release: Release) -> Sides:
    return Sides(_read(release, "optin"), _read(release, "client"))


def _read(release: Release, name: str) -> Levels:
    records, queries = (
        _estimate(read_derived(release, f"{name}_{level}")) for level in ("records", "queries")
    )
    return Levels(records, queries)


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


def _estimate(frame: pl.DataFrame) -> Estimate:
    names = ["probability", "variance", *(["ci_low", "ci_high"] if "ci_low" in frame else [])]
    columns = [np.asarray(frame[name].to_numpy()) for name in names]
    return IntervalEstimate(*columns) if len(columns) > 2 else Estimate(*columns)
