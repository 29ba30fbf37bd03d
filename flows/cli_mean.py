"""`hybriddp mean`: the mean of a number that every person has."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from flows import options
from flows.running import promise, run_release_flow, say_published, settings_from
from flows.terminal import Console, HomeOption, JsonOption, Table, explained
from tasks.mean import identify
from tasks.mean_request import MeanRequest
from tasks.shelf import read_rows

_SHOWN = 20


@explained
def mean(
    log: options.Log = None,
    epoch: options.Epoch = None,
    column: Annotated[str | None, typer.Option(help="Column of the log, such as Dwell.")] = None,
    per_person: Annotated[
        str | None, typer.Option(help="A person's rows: sum (the default), mean, max or count.")
    ] = None,
    upper: Annotated[
        float | None,
        typer.Option(help="Largest number of a person that counts fully; chosen beforehand."),
    ] = None,
    by: Annotated[
        str | None, typer.Option(help="A mean for each value of this public column of the roster.")
    ] = None,
    config: options.Config = None,
    product: Annotated[str | None, typer.Option(help="Product; default: mean.")] = None,
    locale: options.Locale = None,
    epsilon: Annotated[float | None, typer.Option(help="Privacy loss of each person; 1.")] = None,
    delta: Annotated[
        float | None, typer.Option(help="Chance that the promise fails; 0, 1e-5 if Gaussian.")
    ] = None,
    one_number: Annotated[
        bool | None,
        typer.Option("--one-number", help="Gaussian noise, and a second guarantee."),
    ] = None,
    noise: Annotated[
        str | None, typer.Option(help="The curator's: laplace, the default, or gaussian.")
    ] = None,
    report: Annotated[
        str | None,
        typer.Option(help="Clients': mixed (the default), bit, window, laplace, gaussian."),
    ] = None,
    weight: Annotated[
        str | None,
        typer.Option(help="estimated-variance (the default), known-variance, privacy or naive."),
    ] = None,
    variance_share: Annotated[
        float | None, typer.Option(help="Share of epsilon that finds the variance; 0.05.")
    ] = None,
    known_sd: Annotated[
        float | None, typer.Option(help="Standard deviation, if known beforehand.")
    ] = None,
    optin_fraction: Annotated[
        float | None, typer.Option(help="Share opted in by hash; 0.05.")
    ] = None,
    roster: options.Roster = None,
    rotation: options.Rotation = None,
    columns: options.Columns = None,
    max_bad_row_share: options.BadRows = None,
    min_group_size: options.GroupSize = None,
    decimals: Annotated[int | None, typer.Option(help="Decimals of means; 4.")] = None,
    valid_days: options.ValidDays = None,
    max_bytes: options.MaxBytes = None,
    min_agreement: Annotated[
        float | None, typer.Option(help="Withhold if the groups agree less; 1e-6, 0 never.")
    ] = None,
    sign_off: options.SignOff = None,
    new_attempt: options.NewAttempt = None,
    pay_again: options.PayAgain = None,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Publish the mean of a number that every person has; run it again to get it for free."""
    request = MeanRequest.model_validate(settings_from(locals())).at(datetime.now(UTC))
    outcome, seconds, place = run_release_flow("mean", request, identify, home, is_quiet=as_json)
    say_published(outcome, seconds, place, show_means, as_json=as_json)


def show_means(folder: Path, n_checks: int) -> None:
    """Print the means, what was promised, and where everything is."""
    console = Console()
    manifest = json.loads((folder / "manifest.json").read_bytes())
    parameters, decimals = manifest["parameters"], manifest["decimals"]
    table = Table(parameters["by"] or "", "opt-in", "clients", "mean", "95 % interval")
    for row in read_rows(folder, "means")[:_SHOWN]:
        low, mean, high = (f"{row[name]:,.{decimals}f}" for name in ("ci_low", "mean", "ci_high"))
        people = (f"{row[name]:,}" for name in ("optin_people", "clients"))
        table.add_row(row["key"], *people, mean, f"{low} - {high}")
    console.print(f"Mean of {parameters['column']}, {parameters['per_person']} of each person")
    console.print(table)
    if manifest["rows"]["means"] > _SHOWN:
        console.print(f"... and {manifest['rows']['means'] - _SHOWN} more")
    console.print(f"\n{promise(manifest['guarantees'])}.")
    for row in manifest["second_guarantee"] or ():
        console.print(
            f"Against those who see only this release, and {float(row['coalition']):.0%} of the "
            f"clients: epsilon {row['epsilon_optin']} for opt-in people, {row['epsilon_clients']} "
            f"for other clients, at delta {row['delta']}.",
        )
    console.print(
        f"Release {manifest['release_id']}, sequence {manifest['sequence']}, valid until "
        f"{manifest['expires']}; {n_checks} checks passed.\n"
        f"Published in {folder}",
    )
