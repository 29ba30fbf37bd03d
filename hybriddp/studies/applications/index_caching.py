"""Which posting lists of an inverted index to keep in memory, chosen by a histogram (ZEAL 8.2).

An application that measures what a published keyword histogram is good for: lists are chosen by
it, and the share of true keyword look-ups that memory then answers is the utility.
"""

from dataclasses import dataclass

import numpy as np

from hybriddp.arrays import IntArray
from hybriddp.errors import require, require_count
from hybriddp.studies.applications.measures import Histogram


@dataclass(frozen=True, slots=True)
class Memory:
    """The memory for posting lists; ZEAL section 8.2 has 1 GB, 8 bytes, 200,000 documents."""

    n_bytes: int = 2**30
    bytes_per_posting: int = 8
    longest_list: int = 200_000  # a longer list is cut to its most relevant documents

    def __post_init__(self) -> None:
        require_count(self.n_bytes, "n_bytes")
        require_count(self.bytes_per_posting, "bytes_per_posting")
        require_count(self.longest_list, "longest_list")

    @property
    def n_postings(self) -> int:
        """How many postings fit."""
        return self.n_bytes // self.bytes_per_posting


ZEAL_MEMORY = Memory()


def cached_keywords(
    histogram: Histogram, document_counts: IntArray, memory: Memory = ZEAL_MEMORY
) -> IntArray:
    """Return the keywords whose posting lists are kept, ascending.

    `document_counts[k]` is how many documents hold keyword k; it comes from the index, not from
    the log. Keywords are taken by falling score, their count divided by their documents (ZEAL
    section 8.2: by all of them, although only the first 200,000 take up memory); of equal scores
    the more frequent keyword first, then the lower id. "Until the memory is filled" we read as
    greedy bin packing, as ZEAL calls it: a list that does not fit is passed over and the next ones
    are tried. To stop there instead would waste less than the length of one list.

    Privacy claim: none; the result is as private as the histogram.
    """
    n_documents = _documents_of(histogram.items, document_counts)
    order = np.lexsort((-histogram.counts, -histogram.counts / n_documents))
    lengths = np.minimum(n_documents, memory.longest_list)[order]
    return np.sort(histogram.items[order[_fill(lengths, memory.n_postings)]])


def _documents_of(keywords: IntArray, document_counts: IntArray) -> IntArray:
    require(
        len(keywords) == 0 or bool(keywords[0] >= 0 and keywords[-1] < len(document_counts)),
        "document_counts must have an element for every keyword",
        f"{len(document_counts)} elements",
        "number the keywords from 0 as the log does",
    )
    n_documents = document_counts[keywords]
    require(
        bool(np.all(n_documents >= 1)),
        "every keyword of the histogram must be in at least 1 document",
        "a keyword in none",
        "leave keywords without a posting list out of the histogram",
    )
    return n_documents


def _fill(lengths: IntArray, n_free: int) -> IntArray:
    """Return the positions of the lists that are taken, one after the other, if they fit.

    Every round takes all lists up to the first that does not fit, then forgets that one and all
    that are longer than what is free: a few rounds, not one for each list.
    """
    taken = [np.zeros(0, np.int64)]
    waiting = np.flatnonzero(lengths <= n_free)
    while len(waiting):
        ends = np.cumsum(lengths[waiting])
        n_taken = int(np.searchsorted(ends, n_free, side="right"))
        taken.append(waiting[:n_taken])
        n_free -= int(ends[n_taken - 1])
        waiting = waiting[n_taken:]
        waiting = waiting[lengths[waiting] <= n_free]
    return np.concatenate(taken)


def hit_probability(truth: Histogram, cached: IntArray) -> float:
    """Return the share of keyword look-ups that memory answers: sum of the true likelihoods.

    `truth` is the original keyword histogram; a keyword's likelihood is its share of all counts
    (ZEAL section 8.2). It is 0 if nobody looks anything up.

    Privacy claim: none; the result is private, for it reads the truth.
    """
    return int(truth.counts_of(np.unique(cached)).sum()) / max(truth.total, 1)
