"""`hybriddp release`, `reprocess`, `verify`, `withdraw`, `search`: making lists and using them."""

import json
import tomllib
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from flows.environment import configure
from flows.terminal import HomeOption, JsonOption, Progress, explained
from hybriddp.errors import require
from tasks.home import Home
from tasks.keys import read_public_key
from tasks.log_files import BadInput
from tasks.policy import Charge
from tasks.reprocess import ReprocessRequest
from tasks.request import ReleaseRequest
from tasks.run import identify
from tasks.shelf import look_up, newest_folder, read_rows
from tasks.verify import own_measurements, verify_release
from tasks.withdraw import withdraw as withdraw_release

KeyOption = Annotated[
    Path | None, typer.Option("--key", help="Public key file; default: signing.pub of the home.")
]
_SHOWN = 5


@explained
def release(
    log: Annotated[
        Path | None, typer.Option(help="Log: TSV, CSV or Parquet; file or folder.")
    ] = None,
    epoch: Annotated[
        str | None, typer.Option(help="Period: 2026-W46, 2026-11 or 2026-11-16.")
    ] = None,
    config: Annotated[
        Path | None, typer.Option(help="TOML file with any of these settings.")
    ] = None,
    product: Annotated[str | None, typer.Option(help="Product; default: search.")] = None,
    locale: Annotated[str | None, typer.Option(help="Locale; default: all.")] = None,
    strategy: Annotated[
        str | None, typer.Option(help="high-utility, the default, or paper: as published.")
    ] = None,
    epsilon: Annotated[float | None, typer.Option(help="Privacy loss of each person; 4.")] = None,
    delta: Annotated[
        float | None, typer.Option(help="Chance that the promise fails; 1e-5.")
    ] = None,
    max_head_size: Annotated[
        int | None, typer.Option(help="Queries to publish at most; 50.")
    ] = None,
    headlist_user_fraction: Annotated[
        float | None, typer.Option(help="Share of opt-in people who find the list; 0.95.")
    ] = None,
    max_records_optin: Annotated[
        int | None, typer.Option(help="Records of an opt-in person; 5, or 1 with paper.")
    ] = None,
    client_report: Annotated[
        str | None, typer.Option(help="one-stage, two-stage or two-stage-exact.")
    ] = None,
    optin_fraction: Annotated[
        float | None, typer.Option(help="Share opted in by hash; 0.05.")
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
    clients: Annotated[str | None, typer.Option(help="simulate, or reports of devices.")] = None,
    reports: Annotated[Path | None, typer.Option(help="Reports that devices sent.")] = None,
    max_bad_row_share: Annotated[float | None, typer.Option(help="More bad rows stop it.")] = None,
    min_group_size: Annotated[int | None, typer.Option(help="Smallest group; 2.")] = None,
    blocklist: Annotated[Path | None, typer.Option(help="Queries never to publish.")] = None,
    decimals: Annotated[int | None, typer.Option(help="Decimals of probabilities; 6.")] = None,
    valid_days: Annotated[int | None, typer.Option(help="Days until the list expires; 14.")] = None,
    max_bytes: Annotated[int | None, typer.Option(help="Largest list to ship.")] = None,
    min_agreement: Annotated[
        float | None, typer.Option(help="Withhold if the groups agree less; 1e-6, 0 never.")
    ] = None,
    sign_off: Annotated[
        bool | None, typer.Option("--sign-off", help="Ask before it is published.")
    ] = None,
    new_attempt: Annotated[
        bool | None, typer.Option("--new-attempt", help="Pay again after a burnt draw.")
    ] = None,
    pay_again: Annotated[
        bool | None, typer.Option("--pay-again", help="Pay for a second release of an epoch.")
    ] = None,
    engine: Annotated[str, typer.Option(help="Where the SQL runs: duckdb.")] = "duckdb",
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Publish the head of a search log; run it again to go on, or to get the same list for free."""
    given = {name: value for name, value in locals().items() if value is not None}
    for name in ("config", "columns", "engine", "home", "as_json"):
        given.pop(name, None)
    require(engine == "duckdb", "engine must be duckdb", repr(engine), "it is the only one yet")
    settings = read_settings(config, given, columns or [])
    request = ReleaseRequest.model_validate(settings).at(datetime.now(UTC))
    place = configure(home, quiet=True)
    identify(request, place)  # what is refused anyway is refused before Prefect starts
    console = Console(stderr=True, quiet=as_json, highlight=False)
    with Progress(console) as progress:
        from flows.release import release as release_flow  # importing Prefect takes seconds
        from tasks.orchestrated import announce as announced

        announced.set(progress.announce)
        outcome = release_flow(request)
    if outcome.status == "collecting":
        _say_collecting(outcome.folder, request, as_json)
        return
    # A replay of an old release is still that release, however long ago it expired.
    checks = verify_folder(
        outcome.folder, place, None, 0, with_measurements=True, may_be_expired=True
    )[1]
    if as_json:
        facts = {"checks": [check.name for check in checks], "steps": progress.seconds}
        typer.echo(json.dumps({**outcome.model_dump(mode="json"), **facts}))
    else:
        show_head(outcome.folder, len(checks))


def read_settings(config: Path | None, given: dict[str, Any], columns: list[str]) -> dict[str, Any]:
    """Put the settings of a file and of the command line together; the latter win."""
    settings: dict[str, Any] = {}
    if config is not None:
        try:
            settings = tomllib.loads(config.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise BadInput(f"{config} cannot be read as TOML ({type(error).__name__}).") from None
    mapping = dict(settings.pop("columns", {}))
    for pair in columns:
        name, equals, column = pair.partition("=")
        require(bool(equals), "--columns must look like query=SearchTerm", repr(pair), "add the =")
        mapping[name] = column or None
    if mapping:
        settings["columns"] = mapping
    return {**settings, **given}


def _say_collecting(folder: Path, request: ReleaseRequest, as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps({"status": "collecting", "package": str(folder)}))
        return
    typer.echo(
        f"COLLECTING: devices can report on the package in\n  {folder}\n"
        "Run the same command again with --reports PATH when they have."
    )


def show_head(folder: Path, n_checks: int) -> None:
    """Print the first rows of a release, what was promised, and where everything is."""
    console = Console(highlight=False)
    manifest = json.loads((folder / "manifest.json").read_bytes())
    table = Table("rank", "query", "url", "probability", "95 % interval", box=None)
    for row in read_rows(folder, "head_list")[:_SHOWN]:
        interval = f"{row['ci_low']:.6f} - {row['ci_high']:.6f}"
        table.add_row(
            str(row["rank"]), row["query"], row["url"], f"{row['probability']:.6f}", interval
        )
    if manifest["rows"]["head_list"]:
        console.print(table)
    else:
        console.print("No record was popular enough: more opt-in people or a larger epsilon help.")
    groups = manifest["guarantees"]
    optin = [f"{groups[group]['people']:,}" for group in ("S", "T") if group in groups]
    console.print(
        f"\n{manifest['rows']['head_list']} records of {manifest['rows']['trends']} queries; "
        f"everything else has probability {manifest['masses']['other_records']:.4f}.\n"
        f"{Charge(groups['S']['epsilon_nano'], groups['S']['delta_atto'])} at most for "
        f"each of {' + '.join(optin)} opt-in people and "
        f"{groups['C']['people']:,} clients.\n"
        f"Release {manifest['release_id']}, sequence {manifest['sequence']}, valid until "
        f"{manifest['expires']}; {n_checks} checks passed.\n"
        f"Published in {folder}",
        soft_wrap=True,
    )


@explained
def reprocess(
    release_id: Annotated[str, typer.Argument(help="A published release.")],
    decimals: Annotated[int | None, typer.Option(help="Other rounding.")] = None,
    valid_days: Annotated[int | None, typer.Option(help="Other expiry.")] = None,
    max_bytes: Annotated[int | None, typer.Option(help="Other size limit.")] = None,
    blocklist: Annotated[Path | None, typer.Option(help="Queries never to publish.")] = None,
    min_agreement: Annotated[float | None, typer.Option(help="Other limit of agreement.")] = None,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Do the post-processing again from the measurements: free, a revision only if it differs."""
    request = ReprocessRequest(
        release_id=release_id,
        decimals=decimals,
        valid_days=valid_days,
        max_bytes=max_bytes,
        blocklist=blocklist,
        min_agreement=min_agreement,
    )
    configure(home, quiet=True)
    with Progress(Console(stderr=True, quiet=as_json, highlight=False)) as progress:
        from flows.reprocess import reprocess as reprocess_flow
        from tasks.orchestrated import announce as announced

        announced.set(progress.announce)
        folder = reprocess_flow(request)
    typer.echo(json.dumps({"folder": str(folder)}) if as_json else f"Published in {folder}")


@explained
def verify(
    folder: Annotated[
        Path, typer.Argument(help="Folder of a release, or of a product's releases.")
    ],
    key: KeyOption = None,
    min_sequence: Annotated[int, typer.Option(help="Refuse older lists than this.")] = 0,
    measurements: Annotated[
        Path | None, typer.Option(help="Folder of the measurements, to recompute the list.")
    ] = None,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Check signature, hashes, schema, sequence and expiry, and recompute the list."""
    place = Home.open(home)
    folder = newest_folder(folder)
    manifest, checks = verify_folder(
        folder, place, key, min_sequence, measurements=measurements, with_measurements=key is None
    )
    if as_json:
        found = {check.name: check.detail for check in checks}
        typer.echo(json.dumps({"release_id": manifest["release_id"], "checks": found}))
        return
    console = Console(highlight=False)
    for check in checks:
        console.print(f"[green]✓[/] {check.name}: {check.detail}", soft_wrap=True)
    console.print(f"Release {manifest['release_id']} is what its publisher signed.")


def verify_folder(
    folder: Path,
    home: Home,
    key: Path | None,
    min_sequence: int,
    *,
    measurements: Path | None = None,
    with_measurements: bool,
    may_be_expired: bool = False,
) -> Any:
    """Verify with the home's own measurements, where they are and nobody gave others."""
    public_key = read_public_key(key or home.public / "signing.pub")
    if measurements is None and with_measurements:
        own = own_measurements(home, folder, public_key)
        measurements = own if own.is_dir() else None
    return verify_release(
        folder,
        public_key,
        min_sequence=min_sequence,
        measurements=measurements,
        may_be_expired=may_be_expired,
    )


@explained
def withdraw(
    release_id: Annotated[str, typer.Argument(help="A published release.")],
    reason: Annotated[str, typer.Option(help="Why; it is published.")],
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Mark a release as withdrawn, and point consumers to the one before."""
    folders = withdraw_release(Home.open(home), release_id, reason)
    if as_json:
        typer.echo(json.dumps({"withdrawn": [str(folder) for folder in folders]}))
    else:
        typer.echo(f"Withdrawn: {', '.join(str(folder) for folder in folders)}")


@explained
def search(
    folder: Annotated[
        Path, typer.Argument(help="Folder of a release, or of a product's releases.")
    ],
    prefix: Annotated[str, typer.Argument(help="What somebody has typed so far.")],
    limit: Annotated[int, typer.Option(help="Queries to show.")] = 10,
    as_json: JsonOption = False,
) -> None:
    """Look up a prefix in a published list, as a browser would."""

    found = look_up(newest_folder(folder), prefix, limit)
    if as_json:
        typer.echo(json.dumps(found))
        return
    console = Console(highlight=False)
    if not found:
        console.print(f"No listed query begins with {prefix!r}.")
    for entry in found:
        console.print(f"{entry['query']}  [dim]{entry['probability']:.6f}[/]")
        for url in entry["urls"]:
            console.print(f"    {url['url']}  [dim]{url['probability']:.6f}[/]")


def register(app: typer.Typer) -> None:
    """Add these commands."""
    for command in (release, reprocess, verify, withdraw, search):
        app.command()(command)
