"""The draw of a week: noise is added to what people gave, sums grow, tests name, all is measured.

The log, the names and the state are read before the ledger says that the draw starts. Then what is
carried on is made durable first, and the row that says that the draw is there comes last: a run
that dies in between has burnt its week, and the state of the week before is still the one that the
ledger knows.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
import pyarrow as pa

from hybriddp.arrays import BoolArray
from hybriddp.series.finding import Carried, WeekFinding
from hybriddp.series.season import Season
from tasks.gates.blocklist import require_blocklist
from tasks.log.cohorts import read_participants
from tasks.log.engine import Engine
from tasks.log.warehouse import open_warehouse
from tasks.measured.drawing import draw_together
from tasks.products.head_list import HEADLIST, JOINING
from tasks.products.head_list.estimation.listing import Cell, Listing
from tasks.products.head_list.measuring.weighted import (
    measured_table,
    pairs_of,
    shares_on,
    sums_of_sealed,
)
from tasks.products.head_list.run import HeadListRun
from tasks.products.head_list.series.measured import Pair, Said, with_prior
from tasks.products.head_list.series.reading import known_before
from tasks.products.head_list.series.request import events_of
from tasks.products.head_list.series.season.place import Week, season_of, season_weeks
from tasks.products.head_list.series.season.state import State, StateStore
from tasks.products.head_list.series.unseen import with_unseen
from tasks.release.refusals import BudgetRefused

_TEXTS = ("query", "url")


@dataclass(frozen=True)
class Counted:
    """What a week is drawn from. Private, but for the names and what was said of them."""

    sums: pa.Table  # weights, shares and concentrations by record
    known: list[Pair]
    prior: Mapping[Pair, Said]  # of some of them; it was published before the season
    state: State
    n_unseen: int | None = None  # of S, whom the log does not name; None: nobody asks


def draw_week(run: HeadListRun) -> pa.Table:
    """Draw a week of a season, or find that it was drawn; return what was measured."""
    season = season_of(run.place)
    store = _store_of(run)
    kept: list[State] = []

    def count() -> Counted:
        _require_next(run)
        require_blocklist(run.request, run.ledger.entries())
        drawn = _drawn(run)
        numbers = season.most_records, season.weight_units, season.share_units
        known, prior = known_before(run, drawn)
        with open_warehouse(run) as engine:
            read_participants(engine, run)
            sums = sums_of_sealed(engine, *numbers)
            n_unseen = _count_unseen(engine, run)
        return Counted(sums, known, prior, _carried(run, season, drawn), n_unseen)

    def draw(counted: Counted) -> dict[str, pa.Table]:
        tables, state = draw_from(season, run.place.week, counted)
        kept.append(state)
        return tables

    def keep() -> str | None:
        # After its last week a season carries nothing on.
        return store.save(kept[0]) if run.place.week < season.n_weeks else None

    # Who comes while another process draws the week before waits for it, and finds what it left.
    with run.home.locked(f"series-{store.season_id}"):
        drawn = draw_together(run, events_of(run.place), count, draw, keep)
        forget_older(run)
    return drawn[HEADLIST]


def draw_from(season: Season, week: int, counted: Counted) -> tuple[dict[str, pa.Table], State]:
    """Draw everything of a week from what was counted; return it, and what is carried on.

    Privacy claim: as `WeekFinding.draw`, `KnownWeights.draw` and `ShareMeasuring.draw`, whose
    assumptions `Counted` keeps; names leave in the order of their texts. The prior was published
    before the season, and passes as it is.
    """
    finding = WeekFinding(season, week)
    given = _given(counted.sums)
    known = pl.DataFrame(counted.known, schema=dict.fromkeys(_TEXTS, pl.String), orient="row")
    unknown = given.join(known, on=_TEXTS, how="anti")
    carried = _after_missing_weeks(season, counted.state.carried, week)
    records, weights = _aligned(counted.state.records, unknown)
    carried = finding.draw(carried, weights.to_numpy())
    is_named = finding.named(carried)
    found = _found_table(records, carried, is_named)
    of_known = known.join(given, on=_TEXTS, how="left", maintain_order="left")["weight"]
    noisy = finding.known.draw(of_known.fill_null(0).to_numpy())
    measured = _measure(finding, counted, pairs_of(found), noisy.tolist())
    state = State(records.filter(pl.Series(~is_named)), carried.without(is_named))
    return {JOINING: found, HEADLIST: measured}, state


def _after_missing_weeks(season: Season, carried: Carried, week: int) -> Carried:
    """Draw the noise of weeks that nobody was drawn in: nobody gave anything (proofs/season.md)."""
    nothing = np.zeros(len(carried.sums), dtype=np.int64)
    for missing in range(carried.week + 1, week):
        carried = WeekFinding(season, missing).draw(carried, nothing)
    return carried


def _given(sums: pa.Table) -> pl.DataFrame:
    frame = pl.from_arrow(sums.select([*_TEXTS, "weight"]))
    assert isinstance(frame, pl.DataFrame)
    return frame.filter(pl.col("weight") > 0)


def _aligned(records: pl.DataFrame, given: pl.DataFrame) -> tuple[pl.DataFrame, pl.Series]:
    """Return all records, those that are carried first, with what each was given this week."""
    old = records.join(given, on=_TEXTS, how="left", maintain_order="left")
    new = given.join(records, on=_TEXTS, how="anti").sort(_TEXTS)
    every = pl.concat([old.with_columns(pl.col("weight").fill_null(0)), new])
    return every.select(_TEXTS), every["weight"]


def _found_table(records: pl.DataFrame, carried: Carried, is_named: BoolArray) -> pa.Table:
    """Return the named records with the sums of every track, in the order of their texts."""
    sums = carried.sums[is_named]
    columns = {
        f"noisy_sum_{n}": pl.Series(sums[:, n], dtype=pl.Int64) for n in range(sums.shape[1])
    }
    named = records.filter(pl.Series(is_named)).with_columns(**columns).sort(_TEXTS)
    table = named.to_arrow()
    fields = [
        pa.field(name, pa.string() if name in _TEXTS else pa.int64()) for name in named.columns
    ]
    return table.cast(pa.schema(fields))


def _measure(
    finding: WeekFinding, counted: Counted, new: list[Pair], noisy_weights: list[int]
) -> pa.Table:
    """Measure shares on everything that is known now; say this week's weights of what was known."""
    weight_of: dict[Cell, int] = dict(zip(counted.known, noisy_weights, strict=True))
    listing = Listing.of([*counted.known, *new])
    exact = shares_on(listing, counted.sums)
    if counted.n_unseen is None:
        table = measured_table(listing, weight_of, finding.measuring.draw(exact))
    else:
        absent = finding.season.share_units * counted.n_unseen
        *shares, noisy = finding.measuring.draw(np.append(exact, absent)).tolist()
        table = with_unseen(measured_table(listing, weight_of, np.array(shares)), noisy)
    return with_prior(table, counted.prior)


def _count_unseen(engine: Engine, run: HeadListRun) -> int | None:
    """Count who joined and is not in this week's log, if clients are only those who are. Private.

    What clients report is then of people who searched, and so must be what it is compared with.
    Devices, and whoever is on a roster, are asked whether or not they searched.
    """
    if run.request.roster is not None or run.request.clients == "reports":
        return None
    engine.step("head_list/series/unseen_people")
    return int(engine.fetch("unseen_people")["n_unseen"][0].as_py())


def require_carried(run: HeadListRun) -> None:
    """See that what a week is drawn from can be read, before anybody pays for it."""
    drawn = _drawn(run)
    known_before(run, drawn)
    if drawn:
        week, digest = _left_by(drawn[-1])
        _store_of(run).opened(week, digest)


def _carried(run: HeadListRun, season: Season, drawn: Sequence[Week]) -> State:
    if not drawn:
        return State.nothing(season)
    return _store_of(run).load(*_left_by(drawn[-1]), season)


def _left_by(week: Week) -> tuple[int, str]:
    """Return which week it was, and the digest of the state that it left."""
    assert week.state is not None
    return week.place.week, week.state


def _require_next(run: HeadListRun) -> None:
    """Refuse a week that a later one has overtaken: its sums do not have room for it any more."""
    later = (week for week in season_weeks(run) if week.place.week > run.place.week)
    overtaken = [week for week in later if week.has_begun]
    if overtaken:
        raise BudgetRefused(
            f"week {overtaken[0].place.week} of series {run.place.series} was drawn before week "
            f"{run.place.week}, which is missing from it for good. Nothing was drawn; give the "
            f"reservation back with `hybriddp ledger void {run.release_id}`."
        )


def _drawn(run: HeadListRun) -> list[Week]:
    """Return the weeks of the season that were drawn before this one, in order."""
    before = (week for week in season_weeks(run) if week.place.week < run.place.week)
    return sorted((week for week in before if week.is_drawn), key=lambda week: week.place.week)


def forget_older(run: HeadListRun) -> None:
    """Remove what the season carries no more: older states; after its end all, with the key."""
    request, place = run.request, run.place
    last = max((week.place.week for week in season_weeks(run) if week.is_drawn), default=None)
    if last is None:
        return
    is_over = last == season_of(place).n_weeks
    _store_of(run).keep_only(None if is_over else last)
    for season in range(1, place.season):
        older = place.model_copy(update={"season": season})
        StateStore.of(run.home, request.product, request.locale, older).keep_only(None)


def _store_of(run: HeadListRun) -> StateStore:
    return StateStore.of(run.home, run.request.product, run.request.locale, run.place)
