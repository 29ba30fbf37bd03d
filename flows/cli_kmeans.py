"""`hybriddp kmeans`: the clusters that people's points form."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from flows import options
from flows.running import promise, run_release_flow, say_published, settings_from
from flows.terminal import Console, HomeOption, JsonOption, Table, explained
from hybriddp.errors import require
from tasks.kmeans import identify
from tasks.kmeans_request import KMeansRequest
from tasks.shelf import read_rows

_SHOWN = 20


@explained
def kmeans(
    log: options.Log = None,
    epoch: options.Epoch = None,
    column: Annotated[
        list[str] | None, typer.Option(help="Column of the log; once for each dimension.")
    ] = None,
    per_person: Annotated[
        list[str] | None,
        typer.Option(help="A person's rows: sum, mean, max or count; for each column, or once."),
    ] = None,
    upper: Annotated[
        list[float] | None,
        typer.Option(help="Largest number that counts fully; for each column, chosen beforehand."),
    ] = None,
    n_clusters: Annotated[int | None, typer.Option(help="Clusters to find; 4.")] = None,
    n_iterations: Annotated[int | None, typer.Option(help="How often centres move; 3.")] = None,
    debias: Annotated[
        bool | None,
        typer.Option(help="Undo what clients' false answers do; for thousands of people."),
    ] = None,
    config: options.Config = None,
    product: Annotated[str | None, typer.Option(help="Product; default: clusters.")] = None,
    locale: options.Locale = None,
    epsilon: Annotated[float | None, typer.Option(help="Privacy loss of each person; 4.")] = None,
    optin_fraction: Annotated[
        float | None, typer.Option(help="Share opted in by hash; 0.05.")
    ] = None,
    roster: options.Roster = None,
    rotation: options.Rotation = None,
    columns: options.Columns = None,
    max_bad_row_share: options.BadRows = None,
    min_group_size: options.GroupSize = None,
    decimals: Annotated[int | None, typer.Option(help="Decimals of shares and centres; 4.")] = None,
    valid_days: options.ValidDays = None,
    max_bytes: options.MaxBytes = None,
    sign_off: options.SignOff = None,
    new_attempt: options.NewAttempt = None,
    pay_again: options.PayAgain = None,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Publish the clusters that people's points form; run it again to get them for free."""
    arguments = locals()
    points = _points(*(arguments.pop(name) for name in ("column", "per_person", "upper")))
    settings = settings_from(arguments) | ({"points": points} if points else {})
    request = KMeansRequest.model_validate(settings).at(datetime.now(UTC))
    outcome, seconds, place = run_release_flow("kmeans", request, identify, home, is_quiet=as_json)
    say_published(outcome, seconds, place, show_clusters, as_json=as_json)


def _points(
    columns: list[str] | None, rules: list[str] | None, uppers: list[float] | None
) -> list[dict[str, Any]]:
    """Put what is said of each column together; one rule is for all of them."""
    columns, rules, uppers = columns or [], rules or ["sum"], uppers or []
    rules = rules * len(columns) if len(rules) == 1 else rules
    require(
        len(columns) == len(uppers) == len(rules),
        "every --column needs an --upper, and a --per-person if there are several",
        f"{len(columns)} columns, {len(uppers)} limits and {len(rules)} rules",
        "give as many of each, in the same order",
    )
    return [
        {"column": column, "per_person": rule, "upper": limit}
        for column, rule, limit in zip(columns, rules, uppers, strict=True)
    ]


def show_clusters(folder: Path, n_checks: int) -> None:
    """Print the clusters, what was promised, and where everything is."""
    console = Console()
    manifest = json.loads((folder / "manifest.json").read_bytes())
    decimals = manifest["decimals"]
    names = [point["column"] for point in manifest["parameters"]["points"]]
    centres: dict[int, list[str]] = {}
    for row in read_rows(folder, "centres"):
        error = row["standard_error"]
        margin = "" if error is None else f" ± {error:,.{decimals}f}"
        centres.setdefault(row["cluster"], []).append(f"{row['centre']:,.{decimals}f}{margin}")
    table = Table("cluster", "share", *names)
    for row in read_rows(folder, "clusters")[:_SHOWN]:
        share = f"{row['share']:.1%} ± {row['standard_error']:.1%}"
        table.add_row(str(row["cluster"]), share, *centres[row["cluster"]])
    console.print(table)
    if manifest["rows"]["clusters"] > _SHOWN:
        console.print(f"... and {manifest['rows']['clusters'] - _SHOWN} more")
    console.print(
        f"\n{promise(manifest['guarantees'])}.\n"
        "± is one standard error of the last iteration's noise.\n"
        f"Release {manifest['release_id']}, sequence {manifest['sequence']}, valid until "
        f"{manifest['expires']}; {n_checks} checks passed.\n"
        f"Published in {folder}",
    )
