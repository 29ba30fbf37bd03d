"""What a person would rather look at than a file: short Prefect artifacts, one for each step.

They land in Prefect's database and on its pages, so they hold public facts only: parameters,
sizes of groups, outputs of the mechanisms. Never a count of rows, a name or a value of the log.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

import polars as pl
from prefect.artifacts import (
    create_image_artifact,
    create_markdown_artifact,
    create_table_artifact,
)

from hybriddp import high_utility
from hybriddp.headlist import HeadListMechanism
from hybriddp.params import PAPER
from tasks.blocklist import read_blocklist
from tasks.groups import CLIENTS, HEADLIST
from tasks.ledger_rules import PUBLICATIONS
from tasks.measured import load_measurement
from tasks.overview import runway
from tasks.policy import Charge
from tasks.processing import cross_check_of, published_listing
from tasks.publish import published_folder
from tasks.quality import Verdict
from tasks.run import LogRun, Release, Run
from tasks.showing import in_drawing, in_markdown, rows_to_show

_SHOWN = 20
_BAR_HEIGHT, _CHART_WIDTH, _TEXT_WIDTH = 22, 720, 260


def show_identity(run: LogRun) -> None:
    """Say which release this is."""
    parameters = run.request.measurement_parameters()
    rows = [f"| {name} | {in_markdown(value)} |" for name, value in parameters.items()]
    _markdown(
        run,
        "release",
        f"Release `{run.release_id}`, attempt {run.attempt}: {run.request.product}, "
        f"{run.request.locale}, {run.request.epoch}.\n\n| parameter | value |\n|---|---|\n"
        + "\n".join(rows),
    )


def show_ingest(run: LogRun) -> None:
    """Say what was read, without how much of it."""
    normalisation = run.request.measurement_parameters()["normalisation"]
    name = in_markdown(run.request.log.name)
    _markdown(run, "ingest", f"Read {name} into DuckDB; texts will be `{normalisation}`.")


def show_gate(run: Release, verdict: Verdict | None, key: str) -> None:
    """Say which expectations were judged, and how."""
    if verdict is None:
        return
    rows = [
        {
            "expectation": result.label,
            "passed": result.passed,
            "limits": ", ".join(f"{name} {value:g}" for name, value in result.limits),
            "why": result.why,
        }
        for result in verdict.results
    ]
    show_table(rows, key, f"Gate of {run.release_id}")


def show_cohorts(run: Run) -> None:
    """Say by which rule people were put into groups."""
    request = run.request
    slot = run.epoch.index % request.rotation
    _markdown(
        run,
        "cohorts",
        f"Opted in: {request.optin_source}. Rotation: slot {slot} of {request.rotation}. "
        f"Share of opt-in people who find the list: {request.headlist_user_fraction:g}.",
    )


def show_budget(run: LogRun) -> None:
    """Say what everybody paid, and how far the budget reaches."""
    groups = run.reservation["groups"]
    rows = [
        f"| {group} | {'devices' if groups[group]['members'] is None else groups[group]['members']}"
        f" | {Charge(groups[group]['epsilon_nano'], groups[group]['delta_atto'])} |"
        for group in run.groups
    ]
    reach = runway(run.home)
    window = f"{reach.policy.window_days} days" if reach.policy.window_days else "a lifetime"
    _markdown(
        run,
        "budget-runway",
        "| group | people | each paid |\n|---|---|---|\n" + "\n".join(rows) + "\n\n"
        f"Cap over {window}: {reach.policy.cap}. The most charged person has spent "
        f"{reach.largest}: {reach.fits_largest} more releases like this one fit them, "
        f"{reach.fits_newcomer} fit a newcomer.",
    )


def show_head_list_draw(run: Run) -> None:
    """Say what the draw from S named."""
    params = run.params
    mechanism = (
        HeadListMechanism.for_budget(params.budget)
        if params.strategy == PAPER
        else high_utility.finding_mechanism(params)
    )
    named = load_measurement(run, HEADLIST)
    _markdown(
        run,
        "head-list-draw",
        f"{named.num_rows} records had a noisy count above {mechanism.threshold} units (discrete "
        f"Laplace noise of scale {mechanism.noise.scale:.4g}); a person has "
        f"{mechanism.records_per_user}.",
    )


def show_histogram(run: Run) -> None:
    """Say how much of the list stays."""
    listing = published_listing(run)
    _markdown(
        run,
        "listing",
        f"{listing.head_list.n_queries} queries with {listing.head_list.n_records} records stay.",
    )


def show_listing(run: Run, rows: list[dict[str, Any]]) -> None:
    """Show every query that devices would see, to whoever signs it off."""
    create_table_artifact(rows, key=_key("list-to-sign-off"), description=run.release_id)


def show_package(run: Run) -> None:
    """Say where devices find the list."""
    _markdown(run, "collection-package", f"Signed package for devices: `{run.release_id}`.")


def show_reports(run: Run) -> None:
    """Say how many reports were sealed."""
    n_reports = sum(load_measurement(run, CLIENTS)["n_reports"].to_pylist())
    _markdown(run, "client-reports", f"{n_reports:,} reports of clients are sealed, by cell only.")


def show_estimates(key: str) -> Callable[[Release], None]:
    """Return what shows the likeliest records of one step's file."""

    def show(run: Release) -> None:
        path = run.folder / "derived" / f"{key.replace('-', '_')}.parquet"
        frame = _unblocked(run, pl.read_parquet(path, glob=False))
        frame = frame.sort("probability", descending=True).head(_SHOWN)
        rows = frame.with_columns(pl.col("variance").sqrt().alias("standard_error"))
        table = [
            {name: value if isinstance(value, str | None) else f"{value:.6f}"
             for name, value in row.items()}
            for row in rows.drop("variance").to_dicts()
        ]  # fmt: skip
        show_table(table, key, f"{key} of {run.release_id}")

    return show


def _unblocked(run: Release, frame: pl.DataFrame) -> pl.DataFrame:
    """Leave out what is never to be published: pages are read by others than the curator."""
    blocked = set(read_blocklist(getattr(getattr(run, "request", None), "blocklist", None)))
    for entry in run.state.entries:
        blocked |= set(entry.payload["blocked"]) if entry.kind in PUBLICATIONS else set()
    return frame.filter(~pl.col("query").is_in(sorted(blocked)).fill_null(False))


def show_cross_check(run: Release) -> None:
    """Say whether the groups agree, and show the records on which they agree least."""
    check = cross_check_of(run)
    frame = pl.read_parquet(run.folder / "derived" / "cross_check.parquet", glob=False)
    least = _unblocked(run, frame).sort("p_value").head(_SHOWN)
    _markdown(
        run,
        "cross-check",
        f"Opt-in people and clients agree with p = {check.p_value:.3g} over {check.n_records} "
        f"records; {int(check.is_suspicious.sum())} records are suspicious (5 % of such records "
        "are expected to be innocent). A tiny p means that the groups search differently, that "
        "somebody sends false reports, or a mistake.",
    )
    show_table(
        [
            {"query": row["query"], "url": row["url"], "z": f"{row['z']:.2f}",
             "p_value": f"{row['p_value']:.3g}", "suspicious": row["is_suspicious"]}
            for row in least.to_dicts()
        ],
        "cross-check-records",
        f"Least agreeing records of {run.release_id}",
    )  # fmt: skip


def show_publication(run: Run) -> None:
    """Show the head of the list as a table and as a plot with its intervals, and the label."""
    folder = published_folder(run)
    rows = pl.read_parquet(folder / "head_list.parquet", glob=False).head(_SHOWN).to_dicts()
    show_table(rows, "head-list", f"Head of {run.release_id}")
    words = "Probabilities of the likeliest records with their intervals"
    show_plot("head-list-plot", rows, words)
    _markdown(run, "label", (folder / "label.md").read_text(encoding="utf-8"))


def show_checks(folder: Path, rows: list[dict[str, str]]) -> None:
    """Say what was verified."""
    show_table(rows, "verification", f"Checks of {folder.name}")


def plot_intervals(rows: Sequence[dict[str, Any]]) -> str:
    """Draw probabilities with their intervals as SVG; no plotting library is worth its import."""
    longest = max((row["ci_high"] for row in rows), default=1.0) or 1.0
    height = _BAR_HEIGHT * (len(rows) + 1)
    unit = (_CHART_WIDTH - _TEXT_WIDTH - 20) / longest
    parts = []
    for position, row in enumerate(rows):
        middle = _BAR_HEIGHT * (position + 0.5)
        low, high, at = (
            _TEXT_WIDTH + unit * row[name] for name in ("ci_low", "ci_high", "probability")
        )
        name = in_drawing(f"{row['query']}  {row['url'].removeprefix('http://www.')}", 40)
        parts.append(
            f'<text x="{_TEXT_WIDTH - 8}" y="{middle + 4}" text-anchor="end">{name}</text>'
            f'<line x1="{low:.1f}" x2="{high:.1f}" y1="{middle}" y2="{middle}" stroke="#7a9cc6" '
            f'stroke-width="6"/><circle cx="{at:.1f}" cy="{middle}" r="4" fill="#1b3a5c"/>'
        )
    axis = _BAR_HEIGHT * len(rows) + 14
    parts.append(
        f'<text x="{_TEXT_WIDTH}" y="{axis}">0</text>'
        f'<text x="{_CHART_WIDTH - 20}" y="{axis}" text-anchor="end">{longest:.4f}</text>'
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_CHART_WIDTH}" height="{height}" '
        f'font-family="sans-serif" font-size="12"><rect width="100%" height="100%" fill="white"/>'
        + "".join(parts)
        + "</svg>"
    )


def show_words(run: Release, key: str, text: str) -> None:
    """Show a text that another step has put together."""
    _markdown(run, key, text)


def show_plot(key: str, rows: Sequence[dict[str, Any]], description: str) -> None:
    """Show numbers with their intervals as a picture."""
    create_image_artifact(
        f"data:image/svg+xml;utf8,{quote(plot_intervals(rows))}",
        key=_key(key),
        description=description,
    )


def show_table(rows: Sequence[Mapping[str, Any]], key: str, description: str) -> None:
    """Show rows as a table, whatever their texts are."""
    create_table_artifact(rows_to_show(rows), key=_key(key), description=description)


def _markdown(run: Release, key: str, text: str) -> None:
    create_markdown_artifact(text, key=_key(key), description=f"{key} of {run.release_id}")


def _key(name: str) -> str:
    return f"hybriddp-{name}".lower().replace("_", "-")
