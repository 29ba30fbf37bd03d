"""End a season before its last week: what it carries is destroyed, and the next one can begin."""

from datetime import datetime

from tasks.ledger.ledger import Ledger, LedgerMoved, Recheck
from tasks.ledger.payloads import Ended, SeasonPlace
from tasks.ledger.rules import Entry, Kind, ended_seasons, season_key
from tasks.ledger.witnesses import verified_head
from tasks.products.head_list.series.season.place import require_begun, season_of, weeks_of
from tasks.products.head_list.series.season.state import forget_ended
from tasks.release.refusals import BadInput
from tasks.store.home import Home
from tasks.store.keys import open_for_writing


def season_to_end(entries: list[Entry], product: str, locale: str, series: str) -> SeasonPlace:
    """Return the newest week of the season that is running; refuse if there is none."""
    weeks = weeks_of(entries, product, locale, series)
    if not weeks:
        raise BadInput(
            f"{product}/{locale} has no series {series!r}; `hybriddp ledger show` has the releases."
        )
    newest = max((week.place for week in weeks), key=lambda place: (place.season, place.week))
    if season_key(product, locale, newest) in ended_seasons(entries):
        raise BadInput(f"season {newest.season} of series {series} was ended before.")
    if newest.week >= season_of(newest).n_weeks:
        raise BadInput(
            f"season {newest.season} of series {series} has reached its last week; it ends with it."
        )
    require_begun(weeks, newest)
    return newest


def cost_of_ending(home: Home, product: str, locale: str, series: str) -> str:
    """Say what is lost, before anybody agrees to it; refuse what cannot be ended."""
    entries = Ledger(home.ledger).entries()
    place = season_to_end(entries, product, locale, series)
    n_left = season_of(place).n_weeks - place.week
    return (
        f"Season {place.season} of series {series} is at week {place.week}, and {n_left} are left. "
        "Ending it destroys what it carries of searches that nobody has named yet, for good, and "
        "that is on record. What was published stays, nobody gets budget back, and the next epoch "
        "begins another season, for which everybody pays anew."
    )


def end_season(home: Home, product: str, locale: str, series: str) -> SeasonPlace:
    """Put on record that a running season has no more weeks, and destroy what it carries."""
    ledger = open_for_writing(home)
    while True:
        head = verified_head(home)
        entries = [entry for entry in ledger.entries() if entry.seq <= head.seq]
        place = season_to_end(entries, product, locale, series)
        said = Ended(product=product, locale=locale, series=series, season=place.season)
        try:
            recheck = Recheck(head, (Kind.RESERVED, Kind.ENDED), _decide_again)
            ledger.append(Kind.ENDED, "", None, said, recheck=recheck)
        except LedgerMoved:
            continue
        forget_ended(Ledger(home.ledger).entries(), home, ledger.moment())
        return place


def _decide_again(rows: list[Entry], _: datetime) -> None:
    if rows:
        raise LedgerMoved("a week was reserved, or the season ended, since the decision.")
