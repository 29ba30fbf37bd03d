"""The `hybriddp` command.

Exit codes: 0 done, 1 failed, 2 bad input or usage, 3 budget refused, 4 quality gate refused.
"""

from dataclasses import asdict
from typing import Annotated

import typer

from flows.console.lazy import HELP_NAMES, Lazy, LazyGroup
from flows.console.terminal import Console, HomeOption, JsonOption, explained, mark, say, say_json
from tasks.products.registry import PRODUCTS
from tasks.release.refusals import FAILED

# What `hybriddp --help` puts together.
RELEASES, PUBLISHED, LEDGER = "Make releases", "Use and change what is published", "The ledger"
STUDIES, HOME = "Plan, simulate, study", "The home"


class Commands(LazyGroup):
    """Every command of `hybriddp`; a test reads that the help is that of the command itself."""

    table = {  # noqa: RUF012
        **{p.name: Lazy("products", p.name, p.help, RELEASES) for p in PRODUCTS},
        "reprocess": Lazy(
            "reprocess",
            "reprocess",
            "Do the post-processing again from the measurements: free, a revision only if it "
            "differs.",
            PUBLISHED,
        ),
        "withdraw": Lazy(
            "published",
            "withdraw",
            "Take a release back for good: a signed notice is left of it, and readers are moved "
            "on.",
            PUBLISHED,
        ),
        "verify": Lazy(
            "published",
            "verify",
            "Check signature, hashes, schema, sequence and expiry, and recompute the list.",
            PUBLISHED,
        ),
        "search": Lazy(
            "published",
            "search",
            "Look up a prefix in a published list, as a browser would.",
            PUBLISHED,
        ),
        "ledger": Lazy("ledger", "ledger_app", "What was spent, and how far it reaches.", LEDGER),
        "plan": Lazy(
            "plan",
            "plan",
            "Predict a release and suggest its parameters, from public data; nothing is spent.",
            STUDIES,
        ),
        "simulate": Lazy(
            "synthetic",
            "simulate_release",
            "Run a whole release in memory on a synthetic population, and show its head.",
            STUDIES,
        ),
        "generate": Lazy(
            "synthetic",
            "generate",
            "Write a synthetic search log, as Parquet or in the format of AOL's log.",
            STUDIES,
        ),
        "study": Lazy(
            "study",
            "study",
            "Run a study on synthetic users; run it again to go on where it was stopped.",
            STUDIES,
        ),
        "keys": Lazy("keys", "keys_app", "The curator's keys.", HOME),
        "doctor": Lazy(
            "main", "doctor", "Say what is missing or misconfigured, and the remedy.", HOME
        ),
    }


app = typer.Typer(
    cls=Commands,
    help="Publish the head of a search log under hybrid differential privacy.",
    no_args_is_help=True,
    pretty_exceptions_show_locals=False,  # a traceback must not print private data
    context_settings=HELP_NAMES,
)


def _say_version(is_asked: bool) -> None:
    if is_asked:
        from importlib.metadata import version

        say(f"hybriddp {version('hybriddp')}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_say_version, is_eager=True, help="Say the version."),
    ] = False,
) -> None:
    """Publish the head of a search log under hybrid differential privacy."""


@explained
def doctor(home: HomeOption = None, as_json: JsonOption = False) -> None:
    """Say what is missing or misconfigured, and the remedy."""
    from tasks.store.doctor import examine
    from tasks.store.home import Home

    findings = examine(Home.at(home))
    is_well = all(finding.is_well for finding in findings)
    if as_json:
        say_json({"is_well": is_well, "findings": [asdict(finding) for finding in findings]})
    else:
        console = Console()
        for finding in findings:
            remedy = f" Remedy: {finding.remedy}." if not finding.is_well and finding.remedy else ""
            text = f"{finding.name}: {finding.detail}.{remedy}"
            console.print(mark(finding.is_well), text)
    if not is_well:
        raise typer.Exit(FAILED)
