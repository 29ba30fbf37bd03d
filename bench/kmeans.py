"""Is hybrid k-means as good as the better of its baselines? MEAN20 figure 6, on its own noise.

`python -m bench.kmeans` prints the tables, in about twenty minutes on two cores; with a number of
trials behind it, such as 20, in a minute or two and with larger standard errors.
"""

import itertools
import os
import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass

import numpy as np

from hybriddp.kmeans_setting import NOISE_OF_SUM, PRINTED, REPLACE_ONE
from hybriddp.kmeans_study import (
    HYBRID,
    LOCAL,
    N_TRIALS,
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
from hybriddp.populations import study_rng

_BLOCK = 14  # trials of one seed; 364 are 26 such blocks
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


def as_markdown(rows: Sequence[Row]) -> str:
    """Return one line for every noise, c and tau, with hybrid / better baseline at its end."""
    lines = [
        "| curator's noise | c | tau | local | trusted | hybrid | hybrid / better baseline |",
        "|---|---|---|---|---|---|---|",
    ]
    by_place = {_place(row.case): row for row in rows}
    settings = dict.fromkeys((row.case.setting.noise, row.case.trusted_fraction) for row in rows)
    iterations = dict.fromkeys(row.case.setting.n_iterations for row in rows)
    for (noise, c), tau in itertools.product(settings, iterations):
        alone = by_place[LOCAL, tau]
        trusted, hybrid = (by_place[name, tau, noise, c] for name in (TRUSTED, HYBRID))
        ratio = hybrid.mean_squares / min(alone.mean_squares, trusted.mean_squares)
        numbers = " | ".join(_with_error(row) for row in (alone, trusted, hybrid))
        lines.append(f"| {noise} | {c:.1%} | {tau} | {numbers} | {ratio:.2f} |")
    return "\n".join(lines)


def _place(case: Case) -> tuple[object, ...]:
    """Return where a case stands in the table; the local baseline stands in every panel."""
    place = (case.algorithm, case.setting.n_iterations)
    return place if case.algorithm == LOCAL else (*place, case.setting.noise, case.trusted_fraction)


def _with_error(row: Row) -> str:
    return f"{row.mean_squares:.0f} ± {row.standard_error:.0f}"


def main(n_trials: int) -> None:
    """Print the figure, then what changes it, some of that with fewer trials."""
    both, fewer = (PRINTED, REPLACE_ONE), max(n_trials // 6, 2)
    paper, debiased = figure_six_cases(), figure_six_cases(debias=True)
    _show("the paper's estimator", measure(figure_six_cases(noises=both), n_trials))
    _show("debiased", measure(figure_six_cases(noises=both, debias=True), n_trials))
    _show("uniform start", measure(paper, n_trials, start=UNIFORM))
    _show("uniform start, debiased", measure(debiased, fewer, start=UNIFORM))
    _show("printed weight", measure(figure_six_cases(weight=NOISE_OF_SUM), fewer))
    _show("clusters 0.12 apart", measure(paper, fewer, side=0.12))
    _show("clusters 0.5 apart", measure(paper, fewer, side=0.5))
    _show("clusters 0.5 apart, debiased", measure(debiased, fewer, side=0.5))


def _show(title: str, rows: Sequence[Row]) -> None:
    print(f"\n{title}, {rows[0].n_trials} trials\n\n{as_markdown(rows)}", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else N_TRIALS)
