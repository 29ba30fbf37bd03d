"""`hybriddp release`, `zealous`, `mean`, `kmeans`: a command for every product there is.

`getattr` of this module makes the command of that name.
"""

from collections.abc import Callable
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from flows.console.forms import filling_in
from flows.console.terminal import Console, HomeOption, JsonOption, Table, explained, say, say_json
from tasks.products.product import Product
from tasks.products.registry import product_named, product_with


def __getattr__(name: str) -> Callable[..., None]:
    if name.startswith("_"):
        raise AttributeError(name)
    return command_of(product_named(name))


@cache
def command_of(product: Product) -> Callable[..., None]:
    """Make the command that makes releases of a product."""

    @filling_in(product.request, home=HomeOption, as_json=JsonOption)
    def command(
        settings: dict[str, Any],
        home: Path | None = None,
        as_json: bool = False,
    ) -> None:
        # A page of help needs none of it.
        from flows.console.running import run_release_flow, say_published

        request = product.request.model_validate(settings).at(datetime.now(UTC))
        outcome, seconds, place = run_release_flow(product, request, home, is_quiet=as_json)
        if outcome.status == "collecting":
            _say_collecting(outcome.folder, as_json, getattr(request, "series", None))
        else:
            say_published(outcome, seconds, place, show, as_json=as_json)

    command.__name__, command.__doc__ = product.name, product.help
    return explained(command)


def _say_collecting(folder: Path, as_json: bool, series: str | None) -> None:
    if as_json:
        say_json({"status": "collecting", "package": str(folder)})
        return
    say(
        f"COLLECTING: devices can report on the package in\n  {folder}\n"
        "Run the same command again with --reports PATH when they have."
    )
    if series is not None:
        say(
            f"Publish this week of series {series} before you reserve the next: that one never "
            "looks at what a week measured that still collects."
        )


def show(folder: Path, n_checks: int) -> None:
    """Print the head of a release, what was promised, and where everything is."""
    from tasks.publish.shelf import read_rows
    from tasks.release.summary import Grid, Published
    from tasks.verify.reading import read_manifest

    console = Console()
    manifest = read_manifest((folder / "manifest.json").read_bytes())
    rows = {name: read_rows(folder, name) for name in manifest.rows}
    product = product_with(manifest.parameters.strategy)
    for part in product.summary(Published(folder, manifest, rows)):
        if isinstance(part, Grid):
            table = Table(*part.names)
            for row in part.rows:
                table.add_row(*row)
            console.print(table)
        else:
            console.print(part.removesuffix("\n"))
    console.print(
        f"Release {manifest.release_id}, sequence {manifest.sequence}, valid until "
        f"{manifest.expires}; {n_checks} checks passed.\n"
        f"Published in {folder}",
    )
