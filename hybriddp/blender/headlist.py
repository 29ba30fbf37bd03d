"""Records, how many people hold each, and the list of those that are named.

A record is a pair of integers <query id, url id>; the caller keeps the dictionary of strings.
A negative id stands for a member without a usable record, the wildcard <*,*>.
"""

from dataclasses import dataclass

import numpy as np

from hybriddp.arrays import BoolArray, IntArray, as_integers
from hybriddp.errors import require

# Up to this id a dense table answers "where on the list?" faster than a binary search.
_DENSE_TABLE_LIMIT = 1 << 24


@dataclass(frozen=True, slots=True)
class RecordCounts:
    """How many users hold each record that occurs, in the order of (query id, url id). Private."""

    query_ids: IntArray
    url_ids: IntArray
    counts: IntArray


def one_record_each(query_ids: IntArray, url_ids: IntArray) -> tuple[IntArray, IntArray]:
    """Check that both vectors hold one id for each user, and return them as 64-bit integers.

    Privacy claim: none; the result is as private as the records.
    """
    query_ids, url_ids = as_integers(query_ids, "query_ids"), as_integers(url_ids, "url_ids")
    require(
        query_ids.ndim == 1 and query_ids.shape == url_ids.shape,
        "query_ids and url_ids must be vectors of one length",
        f"shapes {query_ids.shape} and {url_ids.shape}",
        "give one record for each user",
    )
    return query_ids, url_ids


def count_records(query_ids: IntArray, url_ids: IntArray) -> RecordCounts:
    """Count the users of each record; wildcards are left out, for they are always listed.

    Privacy claim: none; the result is private and must stay with the curator.
    """
    query_ids, url_ids = one_record_each(query_ids, url_ids)
    is_usable = (query_ids >= 0) & (url_ids >= 0)
    queries, query = np.unique(query_ids[is_usable], return_inverse=True)
    urls, url = np.unique(url_ids[is_usable], return_inverse=True)
    # One integer for each pair sorts many times faster than rows do; positions cannot overflow.
    keys, counts = np.unique(query * max(len(urls), 1) + url, return_counts=True)
    query, url = np.divmod(keys, max(len(urls), 1))
    return RecordCounts(queries[query], urls[url], counts.astype(np.int64))


@dataclass(frozen=True, slots=True)
class HeadList:
    """The named records, grouped by query; the wildcards are implied.

    A client's report is one *cell*: the urls of query 0, its wildcard url, the urls of query 1,
    its wildcard url, ..., and last <*,*>.
    """

    query_ids: IntArray  # (n_queries,), ascending
    url_counts: IntArray  # (n_queries,), urls listed for each query
    url_ids: IntArray  # (n_records,), ascending inside each query

    @classmethod
    def from_records(cls, query_ids: IntArray, url_ids: IntArray) -> "HeadList":
        """Build the list from distinct records in any order.

        Privacy claim: none; post-processing of the names that a head list draw released.
        """
        order = np.lexsort((url_ids, query_ids))
        unique, url_counts = np.unique(query_ids, return_counts=True)
        return cls(
            unique.astype(np.int64),
            url_counts.astype(np.int64),
            url_ids[order].astype(np.int64),
        )

    @property
    def n_queries(self) -> int:
        """Number of listed queries, without the wildcard."""
        return len(self.query_ids)

    @property
    def n_records(self) -> int:
        """Number of listed records, without wildcards."""
        return len(self.url_ids)

    @property
    def n_cells(self) -> int:
        """Number of different reports: records, a wildcard for each query, and <*,*>."""
        return self.n_records + self.n_queries + 1

    @property
    def list_sizes(self) -> IntArray:
        """k_q: urls of each query with its wildcard; last the wildcard query, of size 1."""
        return np.append(self.url_counts + 1, 1)

    @property
    def cell_starts(self) -> IntArray:
        """First cell of each query, the wildcard query last."""
        return np.cumsum(self.list_sizes) - self.list_sizes

    @property
    def query_of_record(self) -> IntArray:
        """Position of each record's query in `query_ids`."""
        return np.repeat(np.arange(self.n_queries), self.url_counts)

    @property
    def record_cells(self) -> IntArray:
        """The cell of each record."""
        return np.arange(self.n_records) + self.query_of_record

    def keep(self, is_kept: BoolArray) -> "HeadList":
        """Return the list with only these queries, all their urls included.

        Privacy claim: none; post-processing of a head list and what decides `is_kept`.
        """
        return HeadList(
            self.query_ids[is_kept],
            self.url_counts[is_kept],
            self.url_ids[is_kept[self.query_of_record]],
        )

    def cells_of(self, query_ids: IntArray, url_ids: IntArray) -> IntArray:
        """Map records to client cells: unlisted queries to <*,*>, unlisted urls to <q,*>.

        Privacy claim: none; the result is as private as the records.
        """
        query_ids, url_ids = one_record_each(query_ids, url_ids)
        query = _positions(self.query_ids, query_ids)
        cells = self.cell_starts[query]
        listed = np.flatnonzero(query < self.n_queries)
        query = query[listed]
        urls = np.unique(self.url_ids)
        # One key for each <query, url>, in the order of the records; `len(urls)` = unlisted url.
        keys = self.query_of_record * (len(urls) + 1) + _positions(urls, self.url_ids)
        wanted = query * (len(urls) + 1) + _positions(urls, url_ids[listed])
        record = np.searchsorted(keys, wanted)
        is_listed = np.append(keys, -1)[record] == wanted
        wildcard = cells[listed] + self.url_counts[query]
        cells[listed] = np.where(is_listed, record + query, wildcard)
        return cells


def _positions(sorted_ids: IntArray, ids: IntArray) -> IntArray:
    """Return the position of each id in `sorted_ids`, or its length where it is absent."""
    absent = len(sorted_ids)
    if absent == 0:
        return np.zeros(len(ids), dtype=np.int64)
    last = int(sorted_ids[-1])
    if last < _DENSE_TABLE_LIMIT:
        table = np.full(last + 2, absent, dtype=np.int64)
        table[sorted_ids] = np.arange(absent)
        # A negative id becomes huge as an unsigned one, so one minimum catches both ends.
        return table[np.minimum(ids.view(np.uint64), np.uint64(last + 1))]
    position = np.minimum(np.searchsorted(sorted_ids, ids), absent - 1)
    return np.where(sorted_ids[position] == ids, position, absent)
