"""Normalise whole columns as a device normalises one text (`hybriddp.device.normalise`).

ASCII, nearly everything, goes through Arrow; other text through the very functions that devices
run, once for each different text.
"""

from collections.abc import Callable

import pyarrow as pa
import pyarrow.compute as pc

from hybriddp.device.normalise import ASCII_WHITE_SPACE, normalise_query, normalise_url

# What str.split() takes for white space, within ASCII.
_SPACES = r"[\x09-\x0d\x1c-\x1f ]+"
# White space that is not one space between two words.
_UNUSUAL_SPACES = r"[\x09-\x0d\x1c-\x1f]|  |^ | $"


def normalise_records(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return (account, query, url) with both texts normalised."""
    columns = {name: batch.column(name) for name in batch.schema.names}
    columns["query"] = _normalise(columns["query"], _ascii_query, normalise_query)
    columns["url"] = _normalise(columns["url"], _ascii_url, normalise_url)
    return pa.RecordBatch.from_pydict(columns)


def with_normal_queries(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return (raw, text): different queries, and what they are normalised to."""
    raw = batch.column("raw")
    text = _normalise(raw, _ascii_query, normalise_query)
    return pa.RecordBatch.from_pydict({"raw": raw, "text": text})


def with_normal_urls(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return (raw, text): different urls, and what they are normalised to."""
    raw = batch.column("raw")
    return pa.RecordBatch.from_pydict(
        {"raw": raw, "text": _normalise(raw, _ascii_url, normalise_url)}
    )


def _ascii_query(texts: pa.Array) -> pa.Array:
    lower = pc.ascii_lower(texts)
    # Few texts need it, and looking for white space is many times faster than replacing it.
    is_spaced = pc.match_substring_regex(lower, _UNUSUAL_SPACES)
    single = pc.replace_substring_regex(pc.filter(lower, is_spaced), _SPACES, " ")
    return pc.replace_with_mask(lower, is_spaced, pc.ascii_trim(single, " "))


def _ascii_url(texts: pa.Array) -> pa.Array:
    return pc.ascii_trim(texts, ASCII_WHITE_SPACE)


def _normalise(
    texts: pa.Array, ascii_kernel: Callable[[pa.Array], pa.Array], one: Callable[[str], str]
) -> pa.Array:
    is_ascii = pc.string_is_ascii(texts)
    result = ascii_kernel(texts)
    others = pc.filter(texts, pc.invert(is_ascii))
    if len(others) == 0:
        return result
    encoded = others.dictionary_encode()
    spelled = pa.array([one(text) for text in encoded.dictionary.to_pylist()], pa.string())
    return pc.replace_with_mask(result, pc.invert(is_ascii), spelled.take(encoded.indices))
