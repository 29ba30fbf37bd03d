"""What the steps of a head list show."""

from collections.abc import Callable
from typing import Any

import polars as pl

from hybriddp.blender.estimation.crosscheck import CrossCheck
from hybriddp.blender.mechanisms import finding_mechanism
from tasks.gates.blocklist import read_blocklist
from tasks.ledger.payloads import Publication
from tasks.ledger.rules import PUBLICATIONS
from tasks.measured.stored import load_measurement
from tasks.products.head_list import CLIENTS, HEADLIST, JOINING
from tasks.products.head_list.estimation.processing import published_listing
from tasks.products.head_list.measuring.left_out_file import named_records
from tasks.products.head_list.run import HeadListRun, params_of
from tasks.publish.publish import published_folder
from tasks.release.artifacts import Artifacts, Rows, Words, intervals, label
from tasks.release.run import Release

_SHOWN = 20


def cohorts(run: HeadListRun, _: Any) -> Artifacts:
    """Say by which rule people were put into groups."""
    request, params = run.request, run.request.params()
    slot = f"slot {run.epoch.index % request.rotation} of {request.rotation}"
    if request.series is not None and run.has_devices:
        slot = f"every device draws its own of {request.rotation} weeks"
    yield Words(
        "cohorts",
        f"Opted in: {request.optin_source}. Rotation: {slot}. "
        f"Share of opt-in people who find the list: {float(params.headlist_user_fraction):g}."
        f"{_unseen(run)}",
    )


def _unseen(run: HeadListRun) -> str:
    """Say which weeks of the season this one does not look at."""
    if run.request.series is None or not run.place.unseen:
        return ""
    weeks = ", ".join(map(str, run.place.unseen))
    return (
        f" Of the season, week {weeks} was drawn and is not published now, so this week does not "
        "look at what it measured, and never will: publish a week before you reserve the next."
    )


def head_list_draw(run: HeadListRun, _: Any) -> Artifacts:
    """Say what the draw from S named."""
    if run.request.series is not None:
        known, new = (named_records(load_measurement(run, g)).num_rows for g in (HEADLIST, JOINING))
        yield Words(
            "head-list-draw",
            f"Week {run.place.week} of season {run.place.season}: its tests named {new} records, "
            f"and all {known} that are known by now were measured.",
        )
        return
    params = params_of(run)
    mechanism, most = finding_mechanism(params), params.max_records_optin
    named = named_records(load_measurement(run, HEADLIST))
    noise, own = (
        ("Gaussian", f"gives weight to {most} at most")
        if params.is_weighted
        else ("Laplace", f"has {most}")
    )
    yield Words(
        "head-list-draw",
        f"{named.num_rows} records had a noisy count above {mechanism.threshold} units (discrete "
        f"{noise} noise of scale {mechanism.noise.scale:.4g}); a person {own}.",
    )


def histogram(run: HeadListRun, _: Any) -> Artifacts:
    """Say how much of the list stays."""
    listing = published_listing(run)
    yield Words(
        "listing",
        f"{listing.head_list.n_queries} queries with {listing.head_list.n_records} records stay.",
    )


def listing_to_sign_off(run: HeadListRun, rows: list[dict[str, Any]]) -> Artifacts:
    """Show every query that devices would see, to whoever signs it off."""
    yield Rows("list-to-sign-off", rows, run.release_id)


def package(run: HeadListRun, _: Any) -> Artifacts:
    """Say where devices find the list."""
    yield Words("collection-package", f"Signed package for devices: `{run.release_id}`.")


def reports(run: HeadListRun, _: Any) -> Artifacts:
    """Say how many reports were sealed."""
    n_reports = sum(load_measurement(run, CLIENTS)["n_reports"].to_pylist())
    yield Words("client-reports", f"{n_reports:,} reports of clients are sealed, by cell only.")


def estimates(key: str) -> Callable[[Release, Any], Artifacts]:
    """Return what shows the likeliest records of one step's file."""

    def show(run: Release, _: Any) -> Artifacts:
        path = run.folder / "derived" / f"{key.replace('-', '_')}.parquet"
        frame = _unblocked(run, pl.read_parquet(path, glob=False))
        frame = frame.sort("probability", descending=True).head(_SHOWN)
        rows = frame.with_columns(pl.col("variance").sqrt().alias("standard_error"))
        table = [
            {name: value if isinstance(value, str | None) else f"{value:.6f}"
             for name, value in row.items()}
            for row in rows.drop("variance").to_dicts()
        ]  # fmt: skip
        yield Rows(key, table, f"{key} of {run.release_id}")

    return show


def _unblocked(run: Release, frame: pl.DataFrame) -> pl.DataFrame:
    """Leave out what is never to be published: pages are read by others than the curator."""
    blocked = set(read_blocklist(getattr(getattr(run, "request", None), "blocklist", None)))
    for entry in run.state.entries:
        blocked |= set(entry.said(Publication).blocked) if entry.kind in PUBLICATIONS else set()
    return frame.filter(~pl.col("query").is_in(sorted(blocked)).fill_null(False))


def changes(run: Release, frame: pl.DataFrame) -> Artifacts:
    """Show what entered, left, rose and fell since the week before."""
    shown = _unblocked(run, frame).sort("change", "query")
    rows = [
        {name: value if isinstance(value, str) else f"{value:.6f}" for name, value in row.items()}
        for row in shown.to_dicts()
    ]
    yield Rows("changes", rows, f"Changes of {run.release_id} since the week before")


def cross_check(run: Release, check: CrossCheck) -> Artifacts:
    """Say whether the groups agree, and show the records on which they agree least."""
    frame = pl.read_parquet(run.folder / "derived" / "cross_check.parquet", glob=False)
    least = _unblocked(run, frame).sort("p_value").head(_SHOWN)
    yield Words(
        "cross-check",
        f"Opt-in people and clients agree with p = {check.p_value:.3g} over {check.n_records} "
        f"records; {int(check.is_suspicious.sum())} records are suspicious (5 % of such records "
        "are expected to be innocent). A tiny p means that the groups search differently, that "
        "somebody sends false reports, or a mistake.",
    )
    yield Rows(
        "cross-check-records",
        [
            {"query": row["query"], "url": row["url"], "z": f"{row['z']:.2f}",
             "p_value": f"{row['p_value']:.3g}", "suspicious": row["is_suspicious"]}
            for row in least.to_dicts()
        ],
        f"Least agreeing records of {run.release_id}",
    )  # fmt: skip


def publication(run: HeadListRun, _: Any) -> Artifacts:
    """Show the head of the list as a table and as a plot with its intervals, and the label."""
    folder = published_folder(run)
    rows = pl.read_parquet(folder / "head_list.parquet", glob=False).head(_SHOWN).to_dicts()
    yield Rows("head-list", rows, f"Head of {run.release_id}")
    words = "Probabilities of the likeliest records with their intervals"
    yield intervals("head-list-plot", rows, words)
    yield from label(run, None)
