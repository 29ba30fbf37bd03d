"""`hybriddp zealous`: histograms of keywords, queries, pairs and clicks."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from flows import options
from flows.running import blocked_words, run_release_flow, say_published, settings_from
from flows.terminal import Console, HomeOption, JsonOption, Table, explained
from tasks.groups import ITEM_COLUMNS
from tasks.policy import Charge
from tasks.shelf import read_rows
from tasks.zealous import identify
from tasks.zealous_product import count_column
from tasks.zealous_request import ZealousRequest

_SHOWN = 5


@explained
def zealous(
    log: options.Log = None,
    epoch: options.Epoch = None,
    histograms: Annotated[
        list[str] | None,
        typer.Option("--histogram", help="keywords, queries, pairs or clicks; all by default."),
    ] = None,
    config: options.Config = None,
    product: Annotated[str | None, typer.Option(help="Product; default: histograms.")] = None,
    locale: options.Locale = None,
    relaxation: Annotated[
        str | None, typer.Option(help="probabilistic, the default, or indistinguishable.")
    ] = None,
    epsilon: Annotated[
        float | None, typer.Option(help="Privacy loss of each person, all histograms; 4.")
    ] = None,
    delta: Annotated[
        float | None, typer.Option(help="Chance that the promise fails, in all; 1e-5.")
    ] = None,
    items_per_user: Annotated[
        int | None, typer.Option(help="Items of each person in each histogram; 1.")
    ] = None,
    session_gap_minutes: Annotated[
        int | None, typer.Option(help="A longer pause ends a session; 30.")
    ] = None,
    roster: options.Roster = None,
    rotation: options.Rotation = None,
    columns: options.Columns = None,
    max_bad_row_share: options.BadRows = None,
    max_outside_epoch_share: options.OutsideEpoch = None,
    exact_ids: options.ExactIds = None,
    min_group_size: options.GroupSize = None,
    blocklist: options.Blocklist = None,
    valid_days: options.ValidDays = None,
    max_bytes: options.MaxBytes = None,
    sign_off: options.SignOff = None,
    ignore_plan: options.IgnorePlan = None,
    accept_collapse: options.AcceptCollapse = None,
    new_attempt: options.NewAttempt = None,
    pay_again: options.PayAgain = None,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Publish which items of a log many people share; run it again to get the same for free."""
    request = ZealousRequest.model_validate(settings_from(locals())).at(datetime.now(UTC))
    outcome, seconds, place = run_release_flow("zealous", request, identify, home, is_quiet=as_json)
    say_published(outcome, seconds, place, show_histograms, as_json=as_json)


def show_histograms(folder: Path, n_checks: int) -> None:
    """Print the first rows of every histogram, what was promised, and where everything is."""
    console = Console()
    manifest = json.loads((folder / "manifest.json").read_bytes())
    groups, kinds = manifest["guarantees"], manifest["parameters"]["histograms"]
    column, m = count_column(manifest["schema_version"]), manifest["parameters"]["items_per_user"]
    for kind in kinds:
        shown = manifest["histograms"][kind]
        console.print(
            f"{manifest['rows'][kind]:,} {kind} of more than {shown['threshold']} contributors "
            f"(noise within {shown['margin_95']} in 95 % of cases)"
        )
        table = Table("rank", *ITEM_COLUMNS[kind], "contributors")
        for row in read_rows(folder, kind)[:_SHOWN]:
            texts = (row[name] for name in ITEM_COLUMNS[kind])
            table.add_row(str(row["rank"]), *texts, f"{row[column]:,}")
        if manifest["rows"][kind]:
            console.print(table)
    charge = Charge(
        sum(groups[kind]["epsilon_nano"] for kind in kinds),
        sum(groups[kind]["delta_atto"] for kind in kinds),
    )
    console.print(
        f"\nEach person contributes at most {m} of their items to a histogram, so more people have "
        "an item than contributed it; how many more was not measured.\n"
        f"{charge} in all, {manifest['parameters']['relaxation']}, for each of "
        f"{groups[kinds[0]]['people']:,} people.\n{blocked_words(manifest)}"
        f"Release {manifest['release_id']}, sequence {manifest['sequence']}, valid until "
        f"{manifest['expires']}; {n_checks} checks passed.\n"
        f"Published in {folder}",
    )
