"""What runs on a client's device: standard library only.

Query and url strings never leave this module; a report is the number of a cell.
"""

from collections.abc import Mapping, Sequence
from itertools import accumulate
from secrets import randbelow

from hybriddp.device.normalise import normalise_query, normalise_url
from hybriddp.errors import require
from hybriddp.params import BlenderParams
from hybriddp.randomizers.laws import client_response
from hybriddp.randomizers.stages import TwoStageResponse

Record = tuple[str, str]


def checked_records(records: Sequence[Record]) -> list[Record]:
    """Return a person's records, if they are pairs of texts."""
    pool = list(records)
    require(
        all(
            isinstance(record, tuple)
            and len(record) == 2
            and all(isinstance(text, str) for text in record)
            for record in pool
        ),
        "records must be pairs (query, url) of texts",
        "something else",
        "give an empty text for a missing url",
    )
    return pool


class Client:
    """A client's reports on one published head list, on strings (JPC19 figure 6; one stage: ours).

    Cells are numbered as in the head list: the urls of the first query, its wildcard url, the
    urls of the second query, ..., and last <*,*>. The texts of a published list are normalised;
    those of records are normalised here.
    """

    def __init__(self, head_list: Mapping[str, Sequence[str]], params: BlenderParams) -> None:
        for urls in head_list.values():
            require(
                len(set(urls)) == len(urls),
                "a query's urls must be different",
                "one twice",
                "the head list is not one that was published",
            )
        self._urls = {
            query: {url: position for position, url in enumerate(urls)}
            for query, urls in head_list.items()
        }
        self._position = {query: position for position, query in enumerate(head_list)}
        sizes = [len(urls) + 1 for urls in self._urls.values()] + [1]
        self._starts = list(accumulate(sizes, initial=0))
        self._response = client_response(params, sizes)
        self._n_reports = params.max_records_client

    def report(self, records: Sequence[Record]) -> list[int]:
        """Return the randomized cells of some of this user's records, always equally many.

        In two stages, one cell for each of `max_records_client` records; in one stage, a set of
        cells for one record. More records than the limit are sampled at random; missing ones are
        padded with <*,*>, so that the number of reports says nothing.

        Privacy claim
          Neighbours  this user's records replaced by any others (local model)
          Guarantee   params.budget for all reports together
          Assumes     the head list was fixed before this user's records were read; called once
                      for each charge (a device stores its reports and sends the same again)
          Excludes    timing
          Charged as  events.ClientReport, events.SubsetReport
          Reference   JPC19 figure 6, theorem 3.3; docs/proofs/subset_selection.md
          Audit       tests/randomizers/test_local.py::test_device_reports_follow_the_exact_law
        """
        pool = list(records)
        chosen = [pool.pop(randbelow(len(pool))) for _ in range(min(len(pool), self._n_reports))]
        wildcards = [self._wildcard] * (self._n_reports - len(chosen))
        reports = [self._randomize(*cell) for cell in [*map(self._cell, chosen), *wildcards]]
        return [cell for report in reports for cell in report]

    @property
    def n_reported_cells(self) -> int:
        """How many cells a report names, whatever the records."""
        one = 1 if isinstance(self._response, TwoStageResponse) else self._response.size
        return self._n_reports * one

    @property
    def _wildcard(self) -> tuple[int, int]:
        return len(self._urls), 0

    def _cell(self, record: Record) -> tuple[int, int]:
        query, url = normalise_query(record[0]), normalise_url(record[1])
        if query not in self._urls:
            return self._wildcard
        urls = self._urls[query]
        return self._position[query], urls.get(url, len(urls))

    def _randomize(self, query: int, url: int) -> list[int]:
        if isinstance(self._response, TwoStageResponse):
            reported_query, reported_url = self._response.draw(query, url)
            return [self._starts[reported_query] + reported_url]
        return self._response.draw(self._starts[query] + url)
