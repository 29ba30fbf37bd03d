"""`hybriddp verify`, `withdraw`, `search`: what can be done with what is published."""

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.text import Text

from flows.console.spared import spare_pandas, spare_wrappers
from flows.console.terminal import (
    Console,
    HomeOption,
    JsonOption,
    YesOption,
    confirm,
    explained,
    harmless,
    mark,
    say,
    say_json,
)

KeyOption = Annotated[
    Path | None, typer.Option("--key", help="Public key file; default: signing.pub of the home.")
]


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
    from flows.console.verifying import verify_folder
    from tasks.publish.pointer import follow
    from tasks.store.home import Home

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
    signed = manifest.model_dump(include={"product", "locale", "epoch", "sequence"})
    if as_json:
        found = {check.name: check.detail for check in checks}
        say_json({"release_id": manifest.release_id, **signed, "checks": found})
        return
    console = Console()
    for check in checks:
        console.print(mark(True), f"{check.name}: {check.detail}")
    console.print(
        f"Release {manifest.release_id} of {signed['product']}/{signed['locale']}, epoch "
        f"{signed['epoch']}, sequence {signed['sequence']}, is what its publisher signed."
    )


@explained
def withdraw(
    release_id: Annotated[
        str, typer.Argument(help="A published release, or one that collects reports.")
    ],
    reason: Annotated[str, typer.Option(help="Why; it is published.")],
    yes: YesOption = False,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Take a release back for good: a signed notice is left of it, and readers are moved on."""
    from tasks.publish.withdraw import cost_of_withdrawal
    from tasks.publish.withdraw import withdraw as withdraw_release
    from tasks.store.home import Home

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
    from tasks.publish.shelf import look_up, newest_folder

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
