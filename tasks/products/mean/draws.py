"""A release of means: the draws from opt-in people's numbers and from clients' reports."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from hybriddp.arrays import IntArray
from hybriddp.mean.clients import N_POWERS
from hybriddp.mean.design import MeanDesign
from hybriddp.mean.trusted import squared_differences
from tasks.measured.drawing import draw_once
from tasks.products.mean import NUMBERS, SQUARES, SUMS
from tasks.products.mean.processing import parameters_of
from tasks.products.mean.request import MeanRequest
from tasks.products.numbers.log import NumbersRun, cohort_values, note_clamped
from tasks.release.run import find_attempt
from tasks.store.home import Home


@dataclass(frozen=True)
class MeanRun(NumbersRun):
    """One run of a release of means."""

    request: MeanRequest


@dataclass(frozen=True, slots=True, eq=False)
class _Placed:
    """A group's numbers on the grid, in an order that depends on nobody's data."""

    key_names: list[str]
    keys: IntArray
    positions: IntArray

    @property
    def n_people(self) -> IntArray:
        """How many people each key has; it is public."""
        return np.bincount(self.keys, minlength=len(self.key_names))


def identify(request: MeanRequest, home: Home) -> MeanRun:
    """Find out which release of means this is; refuse noise that cannot be drawn."""
    design = request.parameters().design
    _ = design.sums, design.squares, design.reports
    return MeanRun(home, *find_attempt(request, home), request)


def draw_sums(run: MeanRun) -> pa.Table:
    """Add opt-in people's numbers up, with noise, key by key."""
    mechanism = design_of(run).sums

    def draw(placed: _Placed) -> pa.Table:
        noisy = mechanism.draw(placed.positions, placed.keys, len(placed.key_names))
        return pa.table({"key": placed.key_names, "n_people": placed.n_people, "noisy_sum": noisy})

    return draw_once(run, SUMS, mechanism.event, lambda: _place(run, SUMS), draw)


def draw_squares(run: MeanRun) -> pa.Table | None:
    """Add squared differences of pairs of opt-in people up, with noise; None if nobody pays."""
    mechanism = design_of(run).squares
    if mechanism is None:
        return None

    def pairs() -> _Placed:
        placed = _place(run, SQUARES)
        squares, keys = squared_differences(
            placed.positions, placed.keys, np.arange(len(placed.keys))
        )
        return _Placed(placed.key_names, keys, squares)

    def draw(paired: _Placed) -> pa.Table:
        noisy = mechanism.draw(paired.positions, paired.keys, len(paired.key_names))
        return pa.table({"key": paired.key_names, "n_pairs": paired.n_people, "noisy_sum": noisy})

    return draw_once(run, SQUARES, mechanism.event, pairs, draw)


def draw_reports(run: MeanRun) -> pa.Table:
    """Let every simulated client report as its device would; keep only sums over the reports."""
    mechanism = design_of(run).reports

    def draw(placed: _Placed) -> pa.Table:
        sums = mechanism.draw(placed.positions, placed.keys, len(placed.key_names))
        powers = {f"power_{power + 1}": sums.powers[power] for power in range(N_POWERS)}
        return pa.table({"key": placed.key_names, "n_reports": sums.n_reports, **powers})

    return draw_once(run, NUMBERS, mechanism.event, lambda: _place(run, NUMBERS), draw)


def design_of(run: MeanRun) -> MeanDesign:
    """Return the mechanisms, as they were reserved."""
    return parameters_of(run).design


def _place(run: MeanRun, group: str) -> _Placed:
    """Put a group's numbers on the grid, and note in the private zone how many were clamped."""
    found = cohort_values(run, group)
    placed = design_of(run).grid.place(found.values[:, 0])
    note_clamped(run, group, len(found.keys), placed.n_clamped)
    return _Placed(found.key_names, found.keys, placed.positions)
