"""The account whose draws compose to the most, by PLD accounting.

Equal sums do not compose equally: of two accounts that have spent the same, one may be twice as
far exposed. So every history is composed, once for all who share it.
"""

import math
from collections import Counter
from fractions import Fraction

import pyarrow as pa

from hybriddp.accounting.accountants import compose_basic, compose_pld, float_above
from hybriddp.accounting.event import Event, from_json
from tasks.budget.policy import Policy
from tasks.budget.showing.overview import Worst
from tasks.budget.sums.files import put_participation
from tasks.ledger.charges import DELTA_UNITS
from tasks.ledger.payloads import DrawStarted, Reserved
from tasks.ledger.rules import Entry, Kind, live_reservations
from tasks.log.engine import Engine
from tasks.products.registry import PRODUCTS
from tasks.store.home import Home

# Composing takes a tenth of a second or so; what is left then counts with its plain sum.
_MOST_COMPOSED = 48


def drawn_events(entries: list[Entry]) -> dict[tuple[str, int, str], Event]:
    """Return what every draw that was started costs, by release, attempt and group."""
    for product in PRODUCTS:
        product.import_events()
    return {
        (e.release_id, e.attempt, e.draw): from_json(e.said(DrawStarted).event)
        for e in entries
        if e.kind is Kind.DRAW_STARTED
    }


def composed(events: list[Event], policy: Policy) -> float:
    """Return the epsilon of draws that touched one person, at the cap's delta."""
    if not events:
        return 0.0
    if policy.cap.delta:
        return compose_pld(events, policy.cap.delta / DELTA_UNITS)
    sums = compose_basic(events)
    return float_above(sums.epsilon) if sums.delta == 0 else math.inf


def worst_account(engine: Engine, home: Home, entries: list[Entry], policy: Policy) -> Worst:
    """Return the most that anybody's draws compose to."""
    histories = _histories(engine, home, entries)
    # The plain sum is a bound wherever its delta is the cap's at most: the largest first.
    ordered = sorted(histories, key=lambda events: _bound(events, policy), reverse=True)
    worst = 0.0
    for n_composed, events in enumerate(ordered):
        bound = _bound(events, policy)
        if bound <= worst:
            break
        if n_composed == _MOST_COMPOSED:
            return Worst(bound, is_bound=True)
        worst = max(worst, composed(list(events), policy))
    return Worst(worst, is_bound=False)


def _bound(events: tuple[Event, ...], policy: Policy) -> float:
    sums = compose_basic(events)
    is_covered = sums.delta <= Fraction(policy.cap.delta, DELTA_UNITS)
    return float_above(sums.epsilon) if is_covered else math.inf


def _histories(engine: Engine, home: Home, entries: list[Entry]) -> list[tuple[Event, ...]]:
    """Return the different sets of draws that people were in."""
    events, reservations = drawn_events(entries), live_reservations(entries)
    draws: dict[tuple[str, str], list[Event]] = {}
    for entry in reservations:
        reserved = entry.said(Reserved)
        for group in reserved.groups:
            event = events.get((entry.release_id, entry.attempt, group))
            if event is not None:
                # Two releases with the same people have one participation file.
                draws.setdefault((reserved.participation, group), []).append(event)
    put_participation(engine, home, reservations)
    places = list(draws)
    engine.put(
        "places",
        pa.table(
            {
                "file": pa.array([file for file, _ in places], pa.string()),
                "cohort": pa.array([group for _, group in places], pa.string()),
                "place": pa.array(range(len(places)), pa.int32()),
            }
        ),
    )
    engine.step("ledger/histories")
    found: dict[frozenset[tuple[Event, int]], tuple[Event, ...]] = {}
    for history in engine.fetch("histories")["history"].to_pylist():
        touched = tuple(event for place in history for event in draws[places[place]])
        found[frozenset(Counter(touched).items())] = touched
    return list(found.values())
