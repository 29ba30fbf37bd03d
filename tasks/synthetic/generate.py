"""Make a synthetic search log and write it as text: Parquet, or TSV in the format of AOL's log."""

import os
from collections.abc import Callable, Iterator
from datetime import UTC, datetime

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hybriddp.arrays import IntArray
from hybriddp.errors import require
from hybriddp.planning.populations import Population, study_rng
from hybriddp.planning.profiles import POPULATIONS
from hybriddp.studies.synthetic.log import SPAN_SECONDS, LogBatch, RecordsPerUser, sample_log
from hybriddp.studies.synthetic.sessions import (
    N_USERS,
    WORLD_SIZE,
    SessionWorld,
    draw_session_world,
)
from hybriddp.zealous.items import SearchLog
from tasks.log.epochs import Epoch
from tasks.synthetic.spelling import N_TEXTS, Speller
from tasks.synthetic.times import fit_sessions, scale
from tasks.synthetic.writer import SCHEMA, LogSummary, write_batches

# JPC19 figure 9: AOL's nine most frequent queries.
NAMED_QUERIES = (
    "google", "yahoo", "google.com", "myspace.com", "mapquest", "yahoo.com", "www.google.com",
    "myspace", "ebay",
)  # fmt: skip

# AOL's ids start at 142 and have gaps; so do ours, and they are nobody's position in the file.
FIRST_ANON_ID, ANON_ID_STEP = 142, 37

# What follows the stem of a query or of a url; the ending's first syllable decides its form.
QUERY_FORMS = (" {}{}", "n {}{}", "{}{}", "s {}{}", " in {}{}", "{} {}", " {}{}s", "{}{}.com")
WORD_FORMS = ("{}{}", "{}{}n", "{}{}", "{}{}s")
URL_FORMS = ("{}{}.com", "{}{}.com", "{}{}.com", "{}{}.org", "{}{}.com", "{}{}.net")

SESSIONS = "sessions"
DEFAULT_RECORDS_PER_USER: RecordsPerUser = "many"
DEFAULT_NO_CLICK_SHARE = 0.3


_QUERIES = Speller("", QUERY_FORMS, list(NAMED_QUERIES))
_WORDS = Speller("", WORD_FORMS, list(NAMED_QUERIES))
_NAMED_SITES = [query.removeprefix("www.").removesuffix(".com") for query in NAMED_QUERIES]
_URLS = Speller("http://www.", URL_FORMS, [f"http://www.{site}.com" for site in _NAMED_SITES])


def spell_queries(query_ids: IntArray) -> pa.StringArray:
    """Return the text of each query; different ids have different texts."""
    rows_named = np.flatnonzero(query_ids < len(NAMED_QUERIES))
    return _QUERIES.spell(query_ids, rows_named, query_ids[rows_named])


def spell_urls(query_ids: IntArray, url_ids: IntArray, n_urls: int) -> pa.StringArray:
    """Return the text of each url, null where url_ids is -1.

    A query's urls are different sites. Queries share sites, so that about n_urls are in use.
    """
    sites = (query_ids + url_ids) % n_urls
    sites[url_ids < 0] = -1
    rows_named = np.flatnonzero((query_ids < len(NAMED_QUERIES)) & (url_ids == 0))
    return _URLS.spell(sites, rows_named, query_ids[rows_named])


def spell_words(words: IntArray, n_right: int) -> pa.StringArray:
    """Return the text of each keyword, without a space; different words have different texts.

    Words from n_right on are misspellings of the first ones: their last letter is doubled, which
    no right word has but yahoo, and there is no yaho.
    """
    numbers = words % n_right
    rows_named = np.flatnonzero(numbers < len(NAMED_QUERIES))
    texts = _WORDS.spell(numbers, rows_named, numbers[rows_named])
    slips = pc.if_else(pa.array(words >= n_right), pc.utf8_slice_codeunits(texts, -1), "")
    return pc.binary_join_element_wise(texts, slips, "")


def spell_sites(sites: IntArray) -> pa.StringArray:
    """Return the text of each site, null where it is -1; different sites have different texts.

    Two named queries may want the same site; then it is that of the first.
    """
    first_named = [_NAMED_SITES.index(site) for site in dict.fromkeys(_NAMED_SITES)]
    rows_named = np.flatnonzero(np.isin(sites, first_named))
    return _URLS.spell(sites, rows_named, sites[rows_named])


def spell_batch(batch: LogBatch, n_urls: int, epoch: Epoch) -> pa.RecordBatch:
    """Return the rows of a batch as they stand in the log of an epoch."""
    item_rank = batch.item_rank
    columns = [
        pa.array(FIRST_ANON_ID + ANON_ID_STEP * batch.user_index),
        spell_queries(batch.query_id),
        pa.array(scale(batch.seconds, SPAN_SECONDS, epoch)).view(pa.timestamp("s")),
        pa.array(item_rank.astype(np.int16), mask=item_rank == 0),
        spell_urls(batch.query_id, batch.url_id, n_urls),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=SCHEMA)


def spell_block(block: SearchLog, world: SessionWorld, epoch: Epoch) -> pa.RecordBatch:
    """Return the rows of a part of a session log as an epoch's log has them: words with spaces."""
    queries, places = np.unique(block.queries, return_inverse=True)
    counts = block.words.counts[queries]
    ends = np.cumsum(counts)
    inside = np.arange(ends[-1]) - np.repeat(ends - counts, counts)
    words = block.words.words[np.repeat(block.words.starts[queries], counts) + inside]
    texts = pa.ListArray.from_arrays(
        pa.array(np.append(0, ends), pa.int32()), spell_words(words, world.vocabulary.n_right)
    )
    ranks = world.ranks(block.queries, block.urls)
    columns = [
        pa.array(FIRST_ANON_ID + ANON_ID_STEP * block.users),
        pc.binary_join(texts, " ").take(pa.array(places)),
        pa.array(fit_sessions(block.users, block.seconds, epoch)).view(pa.timestamp("s")),
        pa.array(ranks.astype(np.int16), mask=block.urls < 0),
        spell_sites(block.urls),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=SCHEMA)


def _check_texts_suffice(population: Population) -> None:
    n_queries, n_urls = population.n_queries, population.n_urls
    require(n_queries <= N_TEXTS, f"n_queries must be <= {N_TEXTS}", n_queries, "lower it")
    # With fewer sites than one query has urls, two of them would be the same.
    fewest = int(population.choice_url_ids.max(initial=0)) + 1
    rule = f"n_urls must be between {fewest} and {N_TEXTS}"
    require(fewest <= n_urls <= N_TEXTS, rule, n_urls, "choose a number between them")


def _rng_of_week(seed: int, week: int) -> np.random.Generator:
    """Return the generator of a week's rows; that of the first one is the seed's own."""
    require(week >= 1, "week must be >= 1", week, "count from 1")
    bits = study_rng(seed).bit_generator
    assert isinstance(bits, np.random.PCG64)
    return np.random.Generator(bits.jumped(week - 1))


def write_log(
    population: Population,
    n_users: int,
    path: str | os.PathLike[str],
    *,
    seed: int,
    week: int = 1,
    epoch: Epoch,
    records_per_user: RecordsPerUser,
    no_click_share: float,
    progress: Callable[[int], None] | None = None,
) -> LogSummary:
    """Write a synthetic log of an epoch to path, in the format that its suffix names.

    The file appears when it is complete, and replaces what was there. Same arguments, same
    bytes. Memory is that of one batch. Parquet knows no seconds; its times read as milliseconds.

    Args:
        week: Another one of the same population has other rows.
        progress: Called after each batch with the number of rows just written.
    """
    _check_texts_suffice(population)
    batches = sample_log(
        population,
        n_users,
        rng=_rng_of_week(seed, week),
        records_per_user=records_per_user,
        no_click_share=no_click_share,
    )
    spelled = (spell_batch(batch, population.n_urls, epoch) for batch in batches)
    return write_batches(spelled, n_users, path, progress)


def write_session_log(
    n_users: int,
    path: str | os.PathLike[str],
    *,
    seed: int,
    week: int = 1,
    epoch: Epoch,
    world_size: int = WORLD_SIZE,
    progress: Callable[[int], None] | None = None,
) -> LogSummary:
    """Write a synthetic log with keywords and sessions to path, as write_log does.

    It is what draw_session_log draws with the generator of this seed, but for pauses between
    sessions, which are shorter if the epoch is. Memory is that of the world and of one block.
    """
    batches = _session_batches(n_users, world_size, epoch, seed, week)
    return write_batches(batches, n_users, path, progress)


def _session_batches(
    n_users: int, world_size: int, epoch: Epoch, seed: int, week: int
) -> Iterator[pa.RecordBatch]:
    # A generator, so that no world is drawn for a path that cannot be written.
    require(n_users >= 1, "n_users must be >= 1", n_users, "ask for at least one user")
    rng = study_rng(seed)
    world = draw_session_world(rng=rng, size=world_size)
    if week != 1:
        rng = _rng_of_week(seed, week)
    for block in world.draw_blocks(n_users, rng=rng):
        yield spell_block(block, world, epoch)


def generate_log(
    kind: str,
    n_users: int | None,
    path: str | os.PathLike[str],
    *,
    seed: int,
    week: int = 1,
    epoch: str = "last-week",
    records_per_user: RecordsPerUser | None = None,
    no_click_share: float | None = None,
    progress: Callable[[int], None] | None = None,
) -> LogSummary:
    """Write the synthetic log of this kind; None stands for the kind's own number."""
    period = Epoch.resolve(epoch, datetime.now(UTC))
    if kind == SESSIONS:
        require(
            records_per_user is None and no_click_share is None,
            "sessions must decide themselves how many records and clicks a user has",
            "another wish",
            "leave records and no_click_share out",
        )
        return write_session_log(
            N_USERS if n_users is None else n_users,
            path,
            seed=seed,
            week=week,
            epoch=period,
            progress=progress,
        )
    population = POPULATIONS[kind](rng=study_rng(seed))
    return write_log(
        population,
        population.n_users if n_users is None else n_users,
        path,
        seed=seed,
        week=week,
        epoch=period,
        records_per_user=records_per_user or DEFAULT_RECORDS_PER_USER,
        no_click_share=DEFAULT_NO_CLICK_SHARE if no_click_share is None else no_click_share,
        progress=progress,
    )
