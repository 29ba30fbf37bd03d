"""The measurements of a season's weeks as the library reads them, with their texts."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import cast

import numpy as np
import pyarrow as pa

from hybriddp.arrays import IntArray
from hybriddp.blender.estimation.pipeline import Strategy
from hybriddp.blender.headlist import HeadList
from hybriddp.errors import HybridDPError
from hybriddp.params import BlenderParams
from hybriddp.series import strategy
from hybriddp.series.measured import Prior, SeasonMeasured, WeekMeasured
from hybriddp.series.season import Season
from tasks.products.head_list import CLIENTS, HEADLIST, JOINING
from tasks.products.head_list.estimation.listing import Listing, shares_of
from tasks.products.head_list.measuring.left_out_file import named_records
from tasks.products.head_list.series.unseen import without_unseen

Pair = tuple[str, str]
# What the last list before the season said of a record: its probability, the variance of that, and
# how many epochs before the first one of the season.
Said = tuple[float, float, int]
_PRIOR = pa.schema(
    [
        ("prior_probability", pa.float64()),
        ("prior_variance", pa.float64()),
        ("prior_weeks", pa.int64()),
    ]
)
STRATEGY = cast(Strategy[SeasonMeasured], strategy)


@dataclass(frozen=True, slots=True)
class WeekTables:
    """What one week measured, as it is stored."""

    week: int
    n_people: int
    tables: Mapping[str, pa.Table]  # by group; clients may be missing still


@dataclass(frozen=True, slots=True)
class MeasuredSeason:
    """The weeks of a season up to one, with the texts of what is known in it."""

    candidates: Listing  # what is known in the last of the weeks
    draws: SeasonMeasured

    @classmethod
    def of(
        cls, season: Season, weeks: Sequence[WeekTables], unseen: Sequence[int]
    ) -> "MeasuredSeason":
        """Number all texts in one way, and read every week's tables."""
        texts = _Texts.of(pair for week in weeks for pair in _pairs(week.tables[HEADLIST]))
        measured = [_week(season, texts, week) for week in weeks]
        named: set[Pair] = set()
        for week in weeks:
            named.update(_pairs(week.tables[JOINING]))
            if not named.isdisjoint(prior_of(week.tables[HEADLIST])):
                raise HybridDPError("a prior is of records that were not known before the season.")
        candidates = texts.listing(measured[-1].known)
        return cls(candidates, SeasonMeasured(season, measured, tuple(unseen)))

    def strategy(self, _params: BlenderParams) -> Strategy[SeasonMeasured]:
        """Return the steps of its estimation."""
        return STRATEGY

    def listing(self, params: BlenderParams) -> Listing:
        """Return the list of the week: as clients were asked, or as they will be."""
        listed = self.draws.now.listed
        return self.chosen(params) if listed is None else self.candidates.trimmed(listed)

    def chosen(self, params: BlenderParams) -> Listing:
        """Choose the list without the reports of the week, which came after it."""
        before = replace(self.draws.now, listed=None, reports=None)
        draws = replace(self.draws, weeks=(*self.draws.weeks[:-1], before))
        return self.candidates.trimmed(strategy.choose(params, draws))


def with_prior(table: pa.Table, prior: Mapping[Pair, Said]) -> pa.Table:
    """Add what was said of a week's records before the season; without any, no columns.

    Privacy claim: none; all of it was published.
    """
    texts = list(zip(table["query"].to_pylist(), table["url"].to_pylist(), strict=True))
    if prior.keys().isdisjoint(texts):
        return table
    for number, field in enumerate(_PRIOR):
        column = [prior[text][number] if text in prior else None for text in texts]
        table = table.append_column(field, pa.array(column, field.type))
    return table


def prior_of(table: pa.Table) -> dict[Pair, Said]:
    """Return what a week's table says that was said before the season; refuse what is nonsense."""
    names = [name for name in _PRIOR.names if name in table.column_names]
    if not names:
        return {}
    wrong = HybridDPError("the prior of a week is none that a list can have given.")
    if [(name, table.schema.field(name).type) for name in names] != list(
        zip(_PRIOR.names, _PRIOR.types, strict=True)
    ):
        raise wrong
    texts = zip(table["query"].to_pylist(), table["url"].to_pylist(), strict=True)
    rows = zip(*(table[name].to_pylist() for name in names), strict=True)
    said = {text: row for text, row in zip(texts, rows, strict=True) if row != (None,) * len(row)}
    for text, (probability, variance, weeks) in said.items():
        if (
            None in text or None in (probability, variance, weeks)
            or not (0 < probability <= 1 and 0 < variance < 1 and weeks >= 1)
        ):  # fmt: skip
            raise wrong
    if len({weeks for *_, weeks in said.values()}) > 1:
        raise wrong
    return said


def found_weeks(measured: MeasuredSeason) -> dict[Pair, int]:
    """Return the week that named each record that is known now; 0: it was known before.

    Of a week that is missing nobody can say what it named: then it counts as the one in which a
    record was first seen.
    """
    draws, texts = measured.draws, measured.candidates
    found: dict[Pair, int] = {}
    is_first = True
    for week in draws.weeks:
        known = texts.trimmed(week.known)
        records = zip(known.record_queries, known.record_urls, strict=True)
        for record, is_new in zip(records, week.is_new.tolist(), strict=True):
            found.setdefault(record, 0 if is_first and not is_new and week.week == 1 else week.week)
        is_first = False
    return found


@dataclass(frozen=True, slots=True)
class _Texts:
    """Numbers of queries and urls, in the order of their texts."""

    queries: tuple[str, ...]
    urls: tuple[str, ...]
    query_id: Mapping[str, int]
    url_id: Mapping[str, int]

    @classmethod
    def of(cls, pairs: Iterable[Pair]) -> "_Texts":
        every = list(pairs)
        queries, urls = (tuple(sorted({pair[place] for pair in every})) for place in (0, 1))
        numbers = ({text: n for n, text in enumerate(texts)} for texts in (queries, urls))
        return cls(queries, urls, *numbers)

    def head_list(self, pairs: Sequence[Pair]) -> HeadList:
        try:
            ids = [(self.query_id[query], self.url_id[url]) for query, url in pairs]
        except KeyError:
            raise HybridDPError("a week speaks of records that were not known in it.") from None
        numbers = np.array(ids, dtype=np.int64).reshape(-1, 2)
        return HeadList.from_records(numbers[:, 0], numbers[:, 1])

    def listing(self, head_list: HeadList) -> Listing:
        return Listing(self.queries, self.urls, head_list)


def _week(season: Season, texts: _Texts, week: WeekTables) -> WeekMeasured:
    found, units = week.tables[JOINING], season.share_units
    table, n_people = without_unseen(week.tables[HEADLIST], week.n_people, units)
    known = texts.listing(texts.head_list(_pairs(table)))
    records = list(zip(known.record_queries, known.record_urls, strict=True))
    new = _rows_of(found, [f"noisy_sum_{track}" for track in range(len(season.tracks))])
    weight_of = {
        pair: row[0] for pair, row in _rows_of(named_records(table), ["noisy_count"]).items()
    }
    is_new = np.array([pair in new for pair in records], dtype=np.bool_)
    if len(new) != int(is_new.sum()) or any(None in sums for sums in new.values()):
        raise HybridDPError("the measurement has other rows than a week of a season makes.")
    nothing = (0,) * len(season.tracks)
    sums = np.array([new.get(pair, nothing) for pair in records], dtype=np.int64)
    weights = np.array([weight_of[pair] or 0 for pair in records], dtype=np.int64)
    measured = shares_of(table, known, uncounted=new)
    listed = reports = None
    if CLIENTS in week.tables:
        listed, reports = _reported(texts, week.tables[CLIENTS])
    return WeekMeasured(
        week.week,
        n_people,
        known.head_list,
        is_new,
        sums.reshape(len(records), len(season.tracks)),
        weights,
        measured,
        listed,
        reports,
        _prior(records, prior_of(table)),
    )


def _prior(records: Sequence[Pair], said: Mapping[Pair, Said]) -> Prior | None:
    if not said:
        return None
    nothing = (np.nan, np.nan, 0)
    values, variances, weeks = np.array([said.get(pair, nothing) for pair in records]).T
    return Prior(int(weeks.max()), values, variances)


def _reported(texts: _Texts, table: pa.Table) -> tuple[HeadList, IntArray]:
    """Return the list that clients were asked about, and how often they reported each cell."""
    listing = texts.listing(texts.head_list(_pairs(table)))
    cells = list(zip(table["query"].to_pylist(), table["url"].to_pylist(), strict=True))
    if cells != listing.cells:
        raise HybridDPError("the reports are about other cells than those of a list.")
    return listing.head_list, table["n_reports"].to_numpy()


def _pairs(table: pa.Table) -> list[Pair]:
    named = named_records(table)
    return list(zip(named["query"].to_pylist(), named["url"].to_pylist(), strict=True))


def _rows_of(table: pa.Table, columns: Sequence[str]) -> dict[Pair, tuple[int | None, ...]]:
    """Return some columns by record; raise if a record stands there twice."""
    rows = zip(*(table[name].to_pylist() for name in columns), strict=True)
    found = dict(zip(_pairs(table), rows, strict=True))
    if len(found) != table.num_rows:
        raise HybridDPError("a measurement names a record twice.")
    return found
