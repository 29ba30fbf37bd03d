"""A release of clusters: the draw from opt-in people's points and clients' answers, in turns."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from hybriddp.accounting.event import Event
from hybriddp.arrays import IntArray
from hybriddp.kmeans.tables import GroupTables
from tasks.measured.drawing import draw_together
from tasks.products.clusters import ANSWERS, POINTS
from tasks.products.clusters.processing import parameters_of
from tasks.products.clusters.request import KMeansRequest
from tasks.products.clusters.tables import table_of
from tasks.products.numbers.log import NumbersRun, cohort_values, note_clamped
from tasks.release.run import find_attempt
from tasks.store.home import Home


@dataclass(frozen=True)
class KMeansRun(NumbersRun):
    """One run of a release of clusters."""

    request: KMeansRequest


def identify(request: KMeansRequest, home: Home) -> KMeansRun:
    """Find out which release of clusters this is."""
    return KMeansRun(home, *find_attempt(request, home), request)


def draw_clusters(run: KMeansRun) -> dict[str, pa.Table]:
    """Measure both groups around centres that move with what was measured before.

    Neither group can be measured without the other's noisy tables, so both draws are one.
    """
    design = parameters_of(run).design
    mechanism, centres = design.mechanism, design.first_centres

    def count() -> dict[str, IntArray]:
        return {group: _points(run, group) for group in (POINTS, ANSWERS)}

    def draw(points: dict[str, IntArray]) -> dict[str, pa.Table]:
        found = mechanism.draw(points[POINTS], points[ANSWERS], centres)
        both: dict[str, GroupTables | None] = {POINTS: found.trusted, ANSWERS: found.local}
        return {group: table_of(tables) for group, tables in both.items() if tables is not None}

    events: dict[str, Event] = {POINTS: mechanism.trusted_event, ANSWERS: mechanism.client_event}
    return draw_together(run, events, count, draw)


def _points(run: KMeansRun, group: str) -> IntArray:
    """Put a group's points on the grid, and note in the private zone how many were clamped."""
    found = cohort_values(run, group)
    placed = [
        number.grid.place(found.values[:, column])
        for column, number in enumerate(run.request.numbers)
    ]
    note_clamped(run, group, len(found.keys), sum(column.n_clamped for column in placed))
    return np.stack([column.positions for column in placed], axis=1)
