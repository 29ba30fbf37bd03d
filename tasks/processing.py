"""The steps after the draws, each with its own file beside the measurements.

Files in `derived/` are what a person opens to follow a release; they are made again at will.
"""

from io import BytesIO
from pathlib import Path

import numpy as np
import polars as pl

from hybriddp.denoise import ClientEstimate
from hybriddp.estimate import Estimate
from tasks import postprocess
from tasks.home import write_whole
from tasks.listing import Listing
from tasks.measurements import load_measurement
from tasks.postprocess import Facts, Levels
from tasks.run import CLIENTS, HEADLIST, HISTOGRAM, Release


def facts_of(release: Release) -> Facts:
    """Return the public numbers that post-processing needs."""
    return Facts(release.params, release.group_size(HISTOGRAM))


def trim_head_list(release: Release) -> tuple[Listing, Estimate]:
    """Keep the likeliest queries; write T's estimate of their records."""
    listing, optin = _trimmed(release)
    _write(release, "optin_estimate", _frame([*_records(listing), (None, None)], optin))
    return listing, optin


def published_listing(release: Release) -> Listing:
    """Return the list as clients know it."""
    return _trimmed(release)[0]


def denoise_reports(release: Release) -> None:
    """Write the clients' estimates."""
    listing = published_listing(release)
    reports = load_measurement(release, CLIENTS)
    estimate = postprocess.denoise_reports(listing, reports, facts_of(release))
    _write_levels(release, "client", listing, Levels(estimate.cells, estimate.queries))


def blend_estimates(release: Release) -> None:
    """Write the blend of both groups."""
    listing, optin = _trimmed(release)
    clients = _read_levels(release, "client")
    blended = postprocess.blend_levels(
        listing, optin, ClientEstimate(clients.queries, clients.records), facts_of(release)
    )
    _write_levels(release, "blended", listing, blended)


def project_estimates(release: Release) -> None:
    """Write the nearest distributions."""
    projected = postprocess.project_levels(_read_levels(release, "blended"))
    _write_levels(release, "projected", published_listing(release), projected)


def read_projected(release: Release) -> tuple[Listing, Levels]:
    """Return what `project_estimates` wrote, with the list that it is about."""
    return published_listing(release), _read_levels(release, "projected")


def _trimmed(release: Release) -> tuple[Listing, Estimate]:
    return postprocess.trim_listing(
        load_measurement(release, HEADLIST),
        load_measurement(release, HISTOGRAM),
        facts_of(release),
    )


def _records(listing: Listing) -> list[tuple[str | None, str | None]]:
    return list(zip(listing.record_queries, listing.record_urls, strict=True))


def _write_levels(release: Release, name: str, listing: Listing, levels: Levels) -> None:
    _write(release, f"{name}_records", _frame(listing.cells, levels.records))
    queries: list[tuple[str | None, str | None]] = [(q, None) for q in listing.listed_queries]
    _write(release, f"{name}_queries", _frame([*queries, (None, None)], levels.queries))


def _read_levels(release: Release, name: str) -> Levels:
    return Levels(*(_read(release, f"{name}_{level}") for level in ("records", "queries")))


def _frame(cells: list[tuple[str | None, str | None]], estimate: Estimate) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "query": pl.Series([query for query, _ in cells], dtype=pl.String),
            "url": pl.Series([url for _, url in cells], dtype=pl.String),
            "probability": estimate.values,
            "variance": estimate.variances,
        }
    )


def _path(release: Release, name: str) -> Path:
    return release.folder / "derived" / f"{name}.parquet"


def _write(release: Release, name: str, frame: pl.DataFrame) -> None:
    buffer = BytesIO()
    frame.write_parquet(buffer)
    write_whole(_path(release, name), buffer.getvalue())


def _read(release: Release, name: str) -> Estimate:
    frame = pl.read_parquet(_path(release, name))
    return Estimate(
        np.asarray(frame["probability"].to_numpy()), np.asarray(frame["variance"].to_numpy())
    )
