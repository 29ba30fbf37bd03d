"""`hybriddp release`, `reprocess`, `verify`, `withdraw`, `search`: making lists and using them."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from flows import options
from flows.spared import spare_pandas, spare_wrappers
from flows.terminal import (
    Console,
    HomeOption,
    JsonOption,
    Table,
    confirm,
    explained,
    harmless,
    mark,
    say,
    say_json,
)
from hybriddp.errors import require

if TYPE_CHECKING:
    from tasks.request import ReleaseRequest

KeyOption = Annotated[
    Path | None, typer.Option("--key", help="Public key file; default: signing.pub of the home.")
]
_SHOWN = 5


@explained
def release(
    log: options.Log = None,
    epoch: options.Epoch = None,
    config: options.Config = None,
    product: Annotated[str | None, typer.Option(help="Product; default: search.")] = None,
    locale: options.Locale = None,
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
    everybody_opted_in: Annotated[
        bool | None,
        typer.Option("--everybody-opted-in", help="With devices: everybody in the log opted in."),
    ] = None,
    roster: options.Roster = None,
    rotation: options.Rotation = None,
    columns: options.Columns = None,
    clients: Annotated[str | None, typer.Option(help="simulate, or reports of devices.")] = None,
    reports: Annotated[Path | None, typer.Option(help="Reports that devices sent.")] = None,
    max_bad_row_share: options.BadRows = None,
    max_outside_epoch_share: options.OutsideEpoch = None,
    exact_ids: options.ExactIds = None,
    min_group_size: options.GroupSize = None,
    blocklist: options.Blocklist = None,
    decimals: Annotated[int | None, typer.Option(help="Decimals of probabilities; 6.")] = None,
    valid_days: options.ValidDays = None,
    max_bytes: options.MaxBytes = None,
    min_agreement: Annotated[
        float | None, typer.Option(help="Withhold if the groups agree less; 1e-6, 0 never.")
    ] = None,
    sign_off: options.SignOff = None,
    ignore_plan: options.IgnorePlan = None,
    accept_collapse: options.AcceptCollapse = None,
    new_attempt: options.NewAttempt = None,
    pay_again: options.PayAgain = None,
    engine: Annotated[str, typer.Option(help="Where the SQL runs: duckdb.")] = "duckdb",
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Publish the head of a search log; run it again to go on, or to get the same list for free."""
    settings = dict(locals())
    from datetime import UTC, datetime

    from flows.running import run_release_flow, say_published, settings_from
    from tasks.request import ReleaseRequest
    from tasks.run import identify

    require(engine == "duckdb", "engine must be duckdb", repr(engine), "it is the only one yet")
    request = ReleaseRequest.model_validate(settings_from(settings)).at(datetime.now(UTC))
    outcome, seconds, place = run_release_flow("release", request, identify, home, is_quiet=as_json)
    if outcome.status == "collecting":
        _say_collecting(outcome.folder, request, as_json)
    else:
        say_published(outcome, seconds, place, show_head, as_json=as_json)


def _say_collecting(folder: Path, request: "ReleaseRequest", as_json: bool) -> None:
    if as_json:
        say_json({"status": "collecting", "package": str(folder)})
        return
    say(
        f"COLLECTING: devices can report on the package in\n  {folder}\n"
        "Run the same command again with --reports PATH when they have."
    )


def show_head(folder: Path, n_checks: int) -> None:
    """Print the first rows of a release, what was promised, and where everything is."""
    from flows.running import blocked_words
    from tasks.policy import Charge
    from tasks.shelf import read_rows

    console = Console()
    manifest = json.loads((folder / "manifest.json").read_bytes())
    table = Table("rank", "query", "url", "probability", "95 % interval")
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
        f"{groups['C']['people']:,} clients.\n{blocked_words(manifest)}"
        f"Release {manifest['release_id']}, sequence {manifest['sequence']}, valid until "
        f"{manifest['expires']}; {n_checks} checks passed.\n"
        f"Published in {folder}",
    )


@explained
def reprocess(
    release_id: Annotated[str, typer.Argument(help="A published release.")],
    decimals: Annotated[int | None, typer.Option(help="Other rounding.")] = None,
    valid_days: Annotated[int | None, typer.Option(help="Other expiry.")] = None,
    max_bytes: Annotated[int | None, typer.Option(help="Other size limit.")] = None,
    blocklist: options.Blocklist = None,
    min_agreement: Annotated[float | None, typer.Option(help="Other limit of agreement.")] = None,
    accept_collapse: options.AcceptCollapse = None,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Do the post-processing again from the measurements: free, a revision only if it differs."""
    from flows.environment import configure
    from flows.running import blocked_words, run_flow
    from tasks.blocklist import read_blocklist
    from tasks.reprocess import ReprocessRequest, find, settings_for

    request = ReprocessRequest(
        release_id=release_id,
        decimals=decimals,
        valid_days=valid_days,
        max_bytes=max_bytes,
        blocklist=blocklist,
        min_agreement=min_agreement,
        accept_collapse=bool(accept_collapse),
    )
    place = configure(home, quiet=True)
    settings_for(find(request, place), request)  # what is refused anyway needs no Prefect
    read_blocklist(blocklist)
    folder, _ = run_flow("reprocess", request, place, is_quiet=as_json)
    if as_json:
        say_json({"folder": str(folder)})
    else:
        manifest = json.loads((folder / "manifest.json").read_bytes())
        say(f"{blocked_words(manifest)}Published in {folder}")


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
    spare_pandas()
    spare_wrappers()
    from flows.verifying import verify_folder
    from tasks.home import Home
    from tasks.pointer import follow

    place = Home.at(home)  # a consumer has none
    folder, pointer = follow(folder)
    manifest, checks = verify_folder(
        folder,
        place,
        key,
        min_sequence,
        measurements=measurements,
        with_measurements=key is None,
        pointer=pointer,
    )
    # A signed release of another product or week is one, too: whoever reads compares.
    signed = {name: manifest[name] for name in ("product", "locale", "epoch", "sequence")}
    if as_json:
        found = {check.name: check.detail for check in checks}
        say_json({"release_id": manifest["release_id"], **signed, "checks": found})
        return
    console = Console()
    for check in checks:
        console.print(mark(True), f"{check.name}: {check.detail}")
    console.print(
        f"Release {manifest['release_id']} of {signed['product']}/{signed['locale']}, epoch "
        f"{signed['epoch']}, sequence {signed['sequence']}, is what its publisher signed."
    )


@explained
def withdraw(
    release_id: Annotated[str, typer.Argument(help="A published release.")],
    reason: Annotated[str, typer.Option(help="Why; it is published.")],
    yes: options.Yes = False,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Take a release back for good: a signed notice is left of it, and readers are moved on."""
    from tasks.home import Home
    from tasks.withdraw import cost_of_withdrawal
    from tasks.withdraw import withdraw as withdraw_release

    place = Home.open(home)
    confirm(cost_of_withdrawal(place, release_id), yes=yes)
    folders = withdraw_release(place, release_id, reason)
    if as_json:
        say_json({"withdrawn": [str(folder) for folder in folders]})
    else:
        say(f"Withdrawn: {', '.join(str(folder) for folder in folders)}")


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
    from tasks.shelf import look_up, newest_folder

    place = newest_folder(folder)
    found = look_up(place, prefix, limit)
    if as_json:
        say_json({"folder": str(place), "prefix": prefix, "queries": found})
        return
    console = Console()
    if not found:
        console.print(f"No listed query begins with {prefix!r}.")
    for entry in found:
        console.print(_with_probability(entry["query"], entry))
        for url in entry["urls"]:
            console.print(_with_probability(f"    {url['url']}", url))


def _with_probability(text: str, entry: dict[str, Any]) -> Text:
    return Text.assemble(harmless(text), (f"  {entry['probability']:.6f}", "dim"))
