"""What decides who wins in MEAN20 figure 6, which does not print it: clouds, start and weight.

The figure itself is the study mean-kmeans. `python -m bench.kmeans` prints what changes it, in a
few minutes on two cores; with a number of trials behind it, such as 20, in less and with larger
standard errors.
"""

import itertools
import os
import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass

import numpy as np

from hybriddp.kmeans.setting import NOISE_OF_MEAN, NOISE_OF_SUM
from hybriddp.planning.populations import study_rng
from hybriddp.studies.means.kmeans_figure import (
    HYBRID,
    LOCAL,
    PACKED,
    TRUSTED,
    UNIFORM,
    Case,
    Row,
    figure_six_cases,
    four_gaussians,
    run_trials,
    summarise,
)

_BLOCK = 14  # trials of one seed
_N_TRIALS = 56
_SEED_OF_POINTS = 0


@dataclass(frozen=True, slots=True)
class Block:
    """Trials that one process runs: everything that they depend on."""

    cases: tuple[Case, ...]
    side: float
    start: str
    n_trials: int
    seed: int

    def run(self) -> list[list[float]]:
        """Return the sums of squares, trial by trial."""
        points = four_gaussians(side=self.side, rng=study_rng(_SEED_OF_POINTS))
        rng = study_rng(self.seed)
        squares = run_trials(points, self.cases, self.n_trials, start=self.start, rng=rng)
        return [[float(value) for value in trial] for trial in squares]


def measure(
    cases: Sequence[Case], n_trials: int, *, side: float = 0.25, start: str = PACKED
) -> list[Row]:
    """Run the trials in as many processes as there are cores; the seeds make them repeatable."""
    blocks = [
        Block(tuple(cases), side, start, min(_BLOCK, n_trials - first), 1 + first)
        for first in range(0, n_trials, _BLOCK)
    ]
    with ProcessPoolExecutor(min(os.cpu_count() or 1, len(blocks))) as pool:
        results = list(pool.map(Block.run, blocks))
    return summarise(cases, np.array([trial for block in results for trial in block]))


def both_estimators(weight: str = NOISE_OF_MEAN) -> list[Case]:
    """Return the figure's cases with the printed noise, and the debiased ones beside them."""
    debiased = figure_six_cases(weight=weight, debias=True)
    # Trusted users do not lie, so there is nothing to undo.
    return figure_six_cases(weight=weight) + [c for c in debiased if c.algorithm != TRUSTED]


def as_markdown(rows: Sequence[Row]) -> str:
    """Return one line for every c and tau; ratios are to the better baseline, as in the study."""
    lines = [
        "| c | tau | local | local, debiased | trusted | hybrid | hybrid, debiased "
        "| hybrid / better | debiased / better |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    by_place = {_place(row.case): row for row in rows}
    fractions = dict.fromkeys(row.case.trusted_fraction for row in rows)
    iterations = dict.fromkeys(row.case.setting.n_iterations for row in rows)
    for c, tau in itertools.product(fractions, iterations):
        local, local_debiased = (by_place[LOCAL, debias, tau] for debias in (False, True))
        trusted = by_place[TRUSTED, False, tau, c]
        hybrid, hybrid_debiased = (by_place[HYBRID, debias, tau, c] for debias in (False, True))
        shown = (local, local_debiased, trusted, hybrid, hybrid_debiased)
        ratios = (
            _ratio(hybrid, local, trusted),
            _ratio(hybrid_debiased, local, local_debiased, trusted),
        )
        numbers = " | ".join([*map(_with_error, shown), *(f"{ratio:.2f}" for ratio in ratios)])
        lines.append(f"| {c:.1%} | {tau} | {numbers} |")
    return "\n".join(lines)


def _place(case: Case) -> tuple[object, ...]:
    """Return where a case stands in the table; the local baseline stands in every panel."""
    place = (case.algorithm, case.setting.debias, case.setting.n_iterations)
    return place if case.algorithm == LOCAL else (*place, case.trusted_fraction)


def _ratio(hybrid: Row, *baselines: Row) -> float:
    return hybrid.mean_squares / min(row.mean_squares for row in baselines)


def _with_error(row: Row) -> str:
    return f"{row.mean_squares:.0f} ± {row.standard_error:.0f}"


def main(n_trials: int) -> None:
    """Print what happens to the figure, with the printed noise, if one choice is another."""
    _show("uniform start", measure(both_estimators(), n_trials, start=UNIFORM))
    _show("clusters 0.12 apart", measure(both_estimators(), n_trials, side=0.12))
    _show("clusters 0.5 apart", measure(both_estimators(), n_trials, side=0.5))
    _show("printed weight", measure(both_estimators(NOISE_OF_SUM), n_trials))


def _show(title: str, rows: Sequence[Row]) -> None:
    print(f"\n{title}, {rows[0].n_trials} trials\n\n{as_markdown(rows)}", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else _N_TRIALS)
