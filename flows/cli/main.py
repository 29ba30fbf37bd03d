"""The `hybriddp` command.

Exit codes: 0 done, 1 failed, 2 bad input or usage, 3 budget refused, 4 quality gate refused.
"""

from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from flows.console.lazy import HELP_NAMES, Lazy, LazyGroup
from flows.console.terminal import (
    Console,
    HomeOption,
    JsonOption,
    Table,
    explained,
    harmless,
    mark,
    say,
    say_json,
)
from tasks.products.registry import PRODUCTS
from tasks.release.refusals import FAILED

if TYPE_CHECKING:
    from hybriddp.params import BlenderParams
    from tasks.synthetic.in_memory import InMemoryRelease


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
            "main",
            "simulate_release",
            "Run a whole release in memory on a synthetic population, and show its head.",
            STUDIES,
        ),
        "generate": Lazy(
            "main",
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


class Kind(StrEnum):
    """The synthetic populations."""

    AOL_LIKE = "aol-like"
    YANDEX_LIKE = "yandex-like"
    ZIPF_LIKE = "zipf-like"


class LogKind(StrEnum):
    """What a synthetic log imitates: a population's records, or people's sessions."""

    AOL_LIKE = Kind.AOL_LIKE.value
    YANDEX_LIKE = Kind.YANDEX_LIKE.value
    ZIPF_LIKE = Kind.ZIPF_LIKE.value
    SESSIONS = "sessions"


class RecordsPerUser(StrEnum):
    """How many records a synthetic user has."""

    ONE = "one"
    MANY = "many"


KindOption = Annotated[Kind, typer.Option(help="Which published log to imitate.")]
UsersOption = Annotated[int | None, typer.Option(help="Users; default: as many as that log had.")]


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
def generate(
    out: Annotated[Path, typer.Option(help="File to write: .parquet, .tsv or .tsv.gz (.txt too).")],
    kind: Annotated[
        LogKind,
        typer.Option(help="Which published log to imitate; sessions: keywords and reformulations."),
    ] = LogKind.AOL_LIKE,
    users: UsersOption = None,
    seed: Annotated[int, typer.Option(help="Same seed and epoch, same bytes.")] = 1,
    epoch: Annotated[
        str, typer.Option(help="Period of its times: 2026-W46, 2026-11, 2026-11-16, last-week.")
    ] = "last-week",
    records: Annotated[
        RecordsPerUser | None,
        typer.Option(
            help="One record a user, or about twenty, heavy-tailed; not for sessions.",
            show_default="many",
        ),
    ] = None,
    no_click_share: Annotated[
        float | None,
        typer.Option(
            help="Share of rows without a click, not for sessions; AOL's log has about 0.47.",
            show_default="0.3",
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Write a synthetic search log, as Parquet or in the format of AOL's log."""
    from rich.markup import escape
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    from tasks.synthetic.generate import generate_log

    console = Console(stderr=True, quiet=as_json)
    with Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.completed:,} rows"),
        TimeElapsedColumn(),
        console=console,
    ) as progress:
        writing = progress.add_task(escape(harmless(f"Writing {out.name} ({kind})")), total=None)
        summary = generate_log(
            kind.value,
            users,
            out,
            seed=seed,
            epoch=epoch,
            records_per_user=None if records is None else records.value,
            no_click_share=no_click_share,
            progress=lambda rows: progress.advance(writing, rows),
        )
    if as_json:
        say_json({"path": str(out), **asdict(summary)})
    else:
        say(
            f"{out}: {summary.rows:,} rows of {summary.users:,} synthetic users, "
            f"{summary.bytes / 1e6:,.1f} MB"
        )


@explained
def simulate_release(
    kind: KindOption = Kind.AOL_LIKE,
    users: UsersOption = None,
    epsilon: Annotated[str, typer.Option(help="Privacy loss promised to every user.")] = "4",
    delta: Annotated[str, typer.Option(help="Probability that the promise may fail.")] = "1e-5",
    max_head_size: Annotated[int, typer.Option(help="Queries to publish at most.")] = 50,
    optin_fraction: Annotated[float, typer.Option(help="Share of users who opt in.")] = 0.05,
    strategy: Annotated[
        str, typer.Option(help="high-utility, or paper: BLENDER as published.")
    ] = "high-utility",
    seed: Annotated[int, typer.Option(help="Same seed, same result.")] = 1,
    rows: Annotated[int, typer.Option(help="Rows to show.")] = 10,
    as_json: JsonOption = False,
) -> None:
    """Run a whole release in memory on a synthetic population, and show its head."""
    from hybriddp.params import BlenderParams
    from tasks.synthetic.in_memory import release_in_memory

    # The synthetic users have one record each.
    params = BlenderParams(
        epsilon, delta, strategy=strategy, max_head_size=max_head_size, max_records_optin=1
    )
    with Console(stderr=True, quiet=as_json).status(f"Releasing an {kind} log in memory"):
        release = release_in_memory(kind, users, optin_fraction, params, seed)
    if as_json:
        say_json(asdict(release))
    else:
        _show(release, params, rows)


def _show(release: "InMemoryRelease", params: "BlenderParams", n_rows: int) -> None:
    from hybriddp.rounding import rounded_up

    console = Console()
    table = Table("rank", "query", "url", "probability", "95 % interval")
    for rank, row in enumerate(release.rows[:n_rows], start=1):
        interval = f"{row.ci_low:.5f} - {row.ci_high:.5f}"
        table.add_row(str(rank), row.query, row.url, f"{row.probability:.5f}", interval)
    if release.rows:
        console.print(table)
    else:
        console.print("No record was popular enough: more opt-in users or a larger epsilon help.")
    budget, utility = params.budget, release.utility
    console.print(
        f"\nRecords: {len(release.rows)}, of {release.n_queries} queries; everything else together "
        f"has probability {release.other_mass:.4f}.\n"
        f"Promise to every user: epsilon {rounded_up(budget.epsilon)}, delta "
        f"{rounded_up(budget.delta)}, when their one record is replaced.\n"
        f"  {release.n_headlist_users:,} opt-in users found the list and "
        f"{release.n_histogram_users:,} measured it: they trust the curator.\n"
        f"  {release.n_clients:,} clients reported through randomized response: they would trust "
        "only their device.\n"
        f"Against the truth: NDCG {utility.ndcg_queries:.3f} (queries), "
        f"{utility.ndcg_of_ndcgs:.3f} (of NDCGs); L1 {utility.l1_records:.4f} (records), "
        f"{utility.l1_queries:.4f} (queries).\n"
        "A simulation on synthetic users: seeded noise, nothing published, no budget spent.",
    )
    for note in release.notes:
        console.print(f"Note: {note}")


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
