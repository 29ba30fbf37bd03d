"""`hybriddp generate` and `simulate`: synthetic logs, and a release of synthetic users."""

from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from flows.console.terminal import (
    Console,
    JsonOption,
    Table,
    explained,
    harmless,
    say,
    say_json,
)

if TYPE_CHECKING:
    from hybriddp.params import BlenderParams
    from tasks.synthetic.in_memory import InMemoryRelease


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


@explained
def generate(
    out: Annotated[Path, typer.Option(help="File to write: .parquet, .tsv or .tsv.gz (.txt too).")],
    kind: Annotated[
        LogKind,
        typer.Option(help="Which published log to imitate; sessions: keywords and reformulations."),
    ] = LogKind.AOL_LIKE,
    users: UsersOption = None,
    seed: Annotated[int, typer.Option(help="Same seed, week and epoch, same bytes.")] = 1,
    week: Annotated[
        int, typer.Option(help="1, 2, ...: with one seed, other searches of one population.")
    ] = 1,
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
            week=week,
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
