"""`hybriddp zealous`: histograms of keywords, queries, pairs and clicks."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from flows.cli_release import read_settings, verify_folder
from flows.environment import configure
from flows.terminal import HomeOption, JsonOption, Progress, explained
from tasks.policy import Charge
from tasks.shelf import read_rows
from tasks.zealous import identify
from tasks.zealous_request import ITEM_COLUMNS, ZealousRequest

_SHOWN = 5


@explained
def zealous(
    log: Annotated[
        Path | None, typer.Option(help="Log: TSV, CSV or Parquet; file or folder.")
    ] = None,
    epoch: Annotated[
        str | None, typer.Option(help="Period: 2026-W46, 2026-11 or 2026-11-16.")
    ] = None,
    histograms: Annotated[
        list[str] | None,
        typer.Option("--histogram", help="keywords, queries, pairs or clicks; all by default."),
    ] = None,
    config: Annotated[
        Path | None, typer.Option(help="TOML file with any of these settings.")
    ] = None,
    product: Annotated[str | None, typer.Option(help="Product; default: histograms.")] = None,
    locale: Annotated[str | None, typer.Option(help="Locale; default: all.")] = None,
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
    roster: Annotated[
        Path | None, typer.Option(help="Who takes part: columns person, optin.")
    ] = None,
    rotation: Annotated[
        int | None, typer.Option(help="Each person serves every R-th epoch.")
    ] = None,
    columns: Annotated[
        list[str] | None, typer.Option(help="Other column names, such as query=SearchTerm.")
    ] = None,
    max_bad_row_share: Annotated[float | None, typer.Option(help="More bad rows stop it.")] = None,
    min_group_size: Annotated[int | None, typer.Option(help="Fewest people; 2.")] = None,
    blocklist: Annotated[Path | None, typer.Option(help="Queries never to publish.")] = None,
    valid_days: Annotated[int | None, typer.Option(help="Days until it expires; 14.")] = None,
    max_bytes: Annotated[int | None, typer.Option(help="Largest file to publish.")] = None,
    sign_off: Annotated[
        bool | None, typer.Option("--sign-off", help="Ask before it is published.")
    ] = None,
    new_attempt: Annotated[
        bool | None, typer.Option("--new-attempt", help="Pay again after a burnt draw.")
    ] = None,
    pay_again: Annotated[
        bool | None, typer.Option("--pay-again", help="Pay for a second release of an epoch.")
    ] = None,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Publish which items of a log many people share; run it again to get the same for free."""
    given = {name: value for name, value in locals().items() if value is not None}
    for name in ("config", "columns", "home", "as_json"):
        given.pop(name, None)
    settings = read_settings(config, given, columns or [])
    request = ZealousRequest.model_validate(settings).at(datetime.now(UTC))
    place = configure(home, quiet=True)
    identify(request, place)  # what is refused anyway is refused before Prefect starts
    console = Console(stderr=True, quiet=as_json, highlight=False)
    with Progress(console) as progress:
        from flows.zealous import zealous as zealous_flow  # importing Prefect takes seconds
        from tasks.orchestrated import announce as announced

        announced.set(progress.announce)
        outcome = zealous_flow(request)
    # A replay of an old release is still that release, however long ago it expired.
    folder = outcome.folder
    checks = verify_folder(folder, place, None, 0, with_measurements=True, may_be_expired=True)[1]
    if as_json:
        facts = {"checks": [check.name for check in checks], "steps": progress.seconds}
        typer.echo(json.dumps({**outcome.model_dump(mode="json"), **facts}))
    else:
        show_histograms(folder, len(checks))


def show_histograms(folder: Path, n_checks: int) -> None:
    """Print the first rows of every histogram, what was promised, and where everything is."""
    console = Console(highlight=False)
    manifest = json.loads((folder / "manifest.json").read_bytes())
    groups, kinds = manifest["guarantees"], manifest["parameters"]["histograms"]
    for kind in kinds:
        shown = manifest["histograms"][kind]
        console.print(
            f"{manifest['rows'][kind]:,} {kind} of more than {shown['threshold']} people "
            f"(noise within {shown['margin_95']} in 95 % of cases)"
        )
        table = Table("rank", *ITEM_COLUMNS[kind], "users", box=None)
        for row in read_rows(folder, kind)[:_SHOWN]:
            texts = (row[name] for name in ITEM_COLUMNS[kind])
            table.add_row(str(row["rank"]), *texts, f"{row['users']:,}")
        if manifest["rows"][kind]:
            console.print(table)
    charge = Charge(
        sum(groups[kind]["epsilon_nano"] for kind in kinds),
        sum(groups[kind]["delta_atto"] for kind in kinds),
    )
    console.print(
        f"\n{charge} in all, {manifest['parameters']['relaxation']}, for each of "
        f"{groups[kinds[0]]['people']:,} people.\n"
        f"Release {manifest['release_id']}, sequence {manifest['sequence']}, valid until "
        f"{manifest['expires']}; {n_checks} checks passed.\n"
        f"Published in {folder}",
        soft_wrap=True,
    )


def register(app: typer.Typer) -> None:
    """Add this command."""
    app.command()(zealous)
