"""A release of histograms: who takes part, and one draw for each kind of item (ZEALOUS)."""

from dataclasses import dataclass

import pyarrow as pa

from hybriddp.zealous.item_kinds import CLICKS, ITEM_COLUMNS, KEYWORDS, PAIRS, QUERIES
from hybriddp.zealous.mechanism import ZealousMechanism
from tasks.log.cohorts import keyed_accounts, read_participants, rotation_limits
from tasks.log.engine import Engine
from tasks.log.normalisation import with_normal_queries, with_normal_urls
from tasks.log.warehouse import open_warehouse
from tasks.measured.drawing import draw_once
from tasks.products.histograms.contributions import pick_items
from tasks.products.histograms.estimation.processing import parameters_of
from tasks.products.histograms.estimation.tables import mechanism_for
from tasks.products.histograms.request import ZealousRequest
from tasks.release.run import Release, SearchRun, find_attempt
from tasks.store.home import Home

# The files of sql/ that turn the numbers of each kind of item into texts again.
_NAMING_SQL = {
    KEYWORDS: "keyword_counts",
    QUERIES: "query_counts",
    PAIRS: "pair_counts",
    CLICKS: "click_counts",
}


@dataclass(frozen=True)
class ZealousRun(SearchRun):
    """One run of a release of histograms."""

    request: ZealousRequest


def identify(request: ZealousRequest, home: Home) -> ZealousRun:
    """Find out which release of histograms this is."""
    return ZealousRun(home, *find_attempt(request, home), request)


def choose_people(run: ZealousRun) -> None:
    """Let every member who serves take part in every histogram, and normalise their searches."""
    if not run.needs_the_log:
        return
    with open_warehouse(run) as engine:
        if engine.has("searches"):  # written last: an earlier run came this far
            return
        keyed_accounts(engine, run)
        engine.put("kinds", pa.table({"kind": list(run.request.kinds)}))
        engine.step(
            "histograms/histogram_candidates",
            into="candidates",
            everybody_opts_in=run.request.optin_source == "everybody in the log",
            **rotation_limits(run),
        )
        engine.step("histograms/people")
        number_texts(engine)
        if KEYWORDS in run.request.kinds:
            engine.step("histograms/named_queries")
            engine.each_row("histograms/typed_keywords", "named_queries")
            engine.step("histograms/numbered_keywords")
            engine.step("histograms/keywords_of_queries")
        engine.step("histograms/searches")


def number_texts(engine: Engine) -> None:
    """Normalise every different query and url once, and number them in the order of their texts.

    Millions of rows are then compared as numbers. The order, and not the numbers, decides which
    of a person's items are taken, so that nobody else's texts change the choice.
    """
    for name, kernel in (("queries", with_normal_queries), ("urls", with_normal_urls)):
        engine.step(f"histograms/raw_{name}")
        engine.map(f"raw_{name}", kernel, "texts")
        engine.step("histograms/numbered_texts", into=f"numbered_{name}")


def mechanism_of(release: Release, kind: str) -> ZealousMechanism:
    """Return the mechanism of one histogram, as it was reserved."""
    return mechanism_for(parameters_of(release), release.reservation.groups, kind)


def draw_histogram(run: ZealousRun, kind: str) -> pa.Table:
    """Publish the items of one kind that enough people share, with noisy counts of people."""
    mechanism = mechanism_of(run, kind)

    def count() -> pa.Table:
        with open_warehouse(run) as engine:
            return _count_items(engine, run, kind, mechanism.first_threshold)

    def draw(occurring: pa.Table) -> pa.Table:
        named = mechanism.draw(occurring["n_users"].to_numpy())
        texts = occurring.select(["first_text", "second_text"]).filter(pa.array(named.is_named))
        columns = ITEM_COLUMNS[kind]
        table = pa.table(
            dict(zip(columns, texts.columns, strict=False)) | {"users": named.noisy_counts}
        )
        # Not in the log's order, nor in that of a hash table.
        return table.sort_by([(name, "ascending") for name in columns]).combine_chunks()

    return draw_once(run, kind, mechanism.event, count, draw)


def _count_items(engine: Engine, run: ZealousRun, kind: str, first_threshold: int) -> pa.Table:
    vocabulary = pick_items(engine, run, run.request, kind)
    read_participants(engine, run)
    engine.step(
        "histograms/item_counts",
        kind=kind,
        n_second=vocabulary.n_second(kind),
        first_threshold=first_threshold,
    )
    engine.step(f"histograms/{_NAMING_SQL[kind]}", into="named_counts")
    return engine.fetch("named_counts")
