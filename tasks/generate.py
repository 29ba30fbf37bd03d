"""Write a synthetic search log as text: Parquet, or TSV in the format of AOL's log.

Queries and urls are spelled from their numbers by two lookups in small tables of syllables and
one join, for a whole batch at a time.
"""

import gzip
import io
import itertools
import os
import uuid
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet as pq

from hybriddp.arrays import IntArray
from hybriddp.errors import InvalidParameter, require
from hybriddp.populations import Population, study_rng
from hybriddp.synthetic_log import LogBatch, RecordsPerUser, sample_log

SCHEMA = pa.schema(
    [
        pa.field("AnonID", pa.int64(), nullable=False),
        pa.field("Query", pa.string(), nullable=False),
        pa.field("QueryTime", pa.timestamp("s"), nullable=False),
        pa.field("ItemRank", pa.int16()),
        pa.field("ClickURL", pa.string()),
    ]
)

# JPC19 figure 9: AOL's nine most frequent queries.
NAMED_QUERIES = (
    "google", "yahoo", "google.com", "myspace.com", "mapquest", "yahoo.com", "www.google.com",
    "myspace", "ebay",
)  # fmt: skip

_Write = Callable[[pa.RecordBatch], None]

# The log starts when AOL's did, 2006-03-01 00:00:00 UTC, in seconds since 1970.
LOG_START = 1_141_171_200
# AOL's ids start at 142 and have gaps; so do ours, and they are nobody's position in the file.
FIRST_ANON_ID, ANON_ID_STEP = 142, 37

# One or more consonants and one vowel: however syllables are strung together, they can be read
# off again, so different numbers never give the same text.
CONSONANTS = ("b", "br", "c", "d", "f", "h", "l", "m", "n", "pl", "pr", "r", "s", "st", "t", "v")
SYLLABLES = tuple(map("".join, itertools.product(CONSONANTS, "aeio")))
STEMS = tuple(map("".join, itertools.product(SYLLABLES, repeat=2)))
# What follows the stem of a query or of a url; the ending's first syllable decides its form.
QUERY_FORMS = (" {}{}", "n {}{}", "{}{}", "s {}{}", " in {}{}", "{} {}", " {}{}s", "{}{}.com")
URL_FORMS = ("{}{}.com", "{}{}.com", "{}{}.com", "{}{}.org", "{}{}.com", "{}{}.net")
# A text is a stem and an ending, 12 bits of its number each.
_ENDING_BITS = 12
_ENDING_MASK = 2**_ENDING_BITS - 1
N_TEXTS = len(STEMS) << _ENDING_BITS
# Odd, so that multiplying by it permutes the numbers below N_TEXTS and neighbours look unrelated.
_SCRAMBLE = 10_368_889


@dataclass(frozen=True, slots=True)
class LogSummary:
    """What was written."""

    rows: int
    users: int
    bytes: int


class _Speller:
    """Gives every number below N_TEXTS a text of its own, by two lookups and one join."""

    def __init__(self, prefix: str, forms: tuple[str, ...], named: list[str]) -> None:
        # The named texts follow the stems; their ending is the empty one after the endings.
        self._stems = pa.array([prefix + stem for stem in STEMS] + named)
        pairs = itertools.product(enumerate(SYLLABLES), SYLLABLES)
        endings = [forms[i % len(forms)].format(first, second) for (i, first), second in pairs]
        self._endings = pa.array([*endings, ""])

    def spell(self, numbers: IntArray, rows_named: IntArray, names: IntArray) -> pa.StringArray:
        """Spell numbers, -1 as null, but rows_named as the named texts with the numbers names."""
        scrambled = numbers * _SCRAMBLE
        stems = (scrambled >> _ENDING_BITS) & _ENDING_MASK
        endings = scrambled & _ENDING_MASK
        stems[rows_named] = len(STEMS) + names
        endings[rows_named] = len(STEMS)
        is_null = numbers < 0
        return pc.binary_join_element_wise(
            self._stems.take(pa.array(stems, mask=is_null)),
            self._endings.take(pa.array(endings)),
            "",
        )


_QUERIES = _Speller("", QUERY_FORMS, list(NAMED_QUERIES))
_NAMED_SITES = [query.removeprefix("www.").removesuffix(".com") for query in NAMED_QUERIES]
_URLS = _Speller("http://www.", URL_FORMS, [f"http://www.{site}.com" for site in _NAMED_SITES])


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


def spell_batch(batch: LogBatch, n_urls: int) -> pa.RecordBatch:
    """Return the rows of a batch as they stand in a log."""
    item_rank = batch.item_rank
    columns = [
        pa.array(FIRST_ANON_ID + ANON_ID_STEP * batch.user_index),
        spell_queries(batch.query_id),
        pa.array(LOG_START + batch.seconds).view(pa.timestamp("s")),
        pa.array(item_rank.astype(np.int16), mask=item_rank == 0),
        spell_urls(batch.query_id, batch.url_id, n_urls),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=SCHEMA)


@contextmanager
def _open_parquet(file: io.BufferedIOBase) -> Iterator[_Write]:
    # Texts rarely repeat within a row group and ids ascend, so dictionaries would only cost time.
    with pq.ParquetWriter(
        file,
        SCHEMA,
        use_dictionary=["ItemRank"],
        column_encoding={name: "DELTA_BINARY_PACKED" for name in ("AnonID", "QueryTime")},
    ) as writer:
        yield writer.write_batch


@contextmanager
def _open_tsv(file: io.BufferedIOBase) -> Iterator[_Write]:
    options = pa.csv.WriteOptions(
        include_header=False,  # pyarrow would quote it
        delimiter="\t",
        quoting_style="none",
        batch_size=8_192,  # rows per write: faster than the default, and still in the cache
    )
    file.write(("\t".join(SCHEMA.names) + "\n").encode())
    with pa.csv.CSVWriter(file, SCHEMA, write_options=options) as writer:
        yield writer.write_batch


@contextmanager
def _open_gzip_tsv(file: io.BufferedIOBase) -> Iterator[_Write]:
    # No name and no time in the header: same arguments, same bytes.
    with (
        gzip.GzipFile(filename="", mode="wb", compresslevel=1, fileobj=file, mtime=0) as zipped,
        _open_tsv(zipped) as write,
    ):
        yield write


_OPENERS = {
    ".parquet": _open_parquet,
    ".tsv": _open_tsv,
    ".txt": _open_tsv,
    ".tsv.gz": _open_gzip_tsv,
    ".txt.gz": _open_gzip_tsv,
}


def _opener_for(target: Path) -> Callable[[io.BufferedIOBase], AbstractContextManager[_Write]]:
    require(target.parent.is_dir(), "the log's directory must exist", target.parent, "create it")
    for suffix, opener in _OPENERS.items():
        if target.name.lower().endswith(suffix):
            return opener
    raise InvalidParameter(
        f"the log's name must end in a known suffix, got {target.name!r}; "
        f"use one of {', '.join(_OPENERS)}."
    )


@contextmanager
def _appearing_whole(path: Path) -> Iterator[io.BufferedIOBase]:
    """Open a file that takes its name only when it is complete, and vanishes on failure."""
    partial = path.with_name(f".{path.name}.{uuid.uuid4().hex}.partial")
    try:
        with partial.open("xb") as file:
            yield file
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)


def _check_texts_suffice(population: Population) -> None:
    n_queries, n_urls = population.n_queries, population.n_urls
    require(n_queries <= N_TEXTS, f"n_queries must be <= {N_TEXTS}", n_queries, "lower it")
    # With fewer sites than one query has urls, two of them would be the same.
    fewest = int(population.choice_url_ids.max(initial=0)) + 1
    rule = f"n_urls must be between {fewest} and {N_TEXTS}"
    require(fewest <= n_urls <= N_TEXTS, rule, n_urls, "choose a number between them")


def write_log(
    population: Population,
    n_users: int,
    path: str | os.PathLike[str],
    *,
    seed: int,
    records_per_user: RecordsPerUser,
    no_click_share: float,
    progress: Callable[[int], None] | None = None,
) -> LogSummary:
    """Write a synthetic log to path, in the format that its suffix names.

    The file appears when it is complete, and replaces what was there. Same arguments, same
    bytes. Memory is that of one batch. Parquet knows no seconds; its times read as milliseconds.

    Args:
        progress: Called after each batch with the number of rows just written.
    """
    target = Path(path)
    opener = _opener_for(target)
    _check_texts_suffice(population)
    batches = sample_log(
        population,
        n_users,
        rng=study_rng(seed),
        records_per_user=records_per_user,
        no_click_share=no_click_share,
    )
    n_rows = 0
    with _appearing_whole(target) as file:
        with opener(file) as write:
            for batch in batches:
                write(spell_batch(batch, population.n_urls))
                n_rows += len(batch)
                if progress is not None:
                    progress(len(batch))
        n_bytes = file.tell()
    return LogSummary(rows=n_rows, users=n_users, bytes=n_bytes)
