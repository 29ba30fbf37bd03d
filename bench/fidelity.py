"""Does strategy `paper` reach the paper's own utility? JPC19 figure 12, on a synthetic AOL log.

`python -m bench.fidelity` prints the table of docs/fidelity.md; a test compares both.
"""

from dataclasses import dataclass

import numpy as np

from hybriddp.blender.headlist import count_records
from hybriddp.blender.metrics import Utility, evaluate
from hybriddp.blender.simulate import simulate
from hybriddp.params import BlenderParams
from hybriddp.planning.populations import study_rng
from hybriddp.planning.profiles import aol_like

EPSILONS = (1, 2, 3, 4, 5)
JPC19_FIGURE_12 = (0.974, 0.980, 0.984, 0.987, 0.990)
N_SEEDS = 20
OPTIN_FRACTION = 0.05
MAX_HEAD_SIZE = 10


@dataclass(frozen=True, slots=True)
class FidelityRow:
    """Means over the seeds at one epsilon, and the standard error of the first."""

    epsilon: int
    ndcg_queries: float
    ndcg_standard_error: float
    ndcg_of_ndcgs: float
    l1_queries: float
    l1_records: float


def measure() -> list[FidelityRow]:
    """Run every epsilon on the same 20 populations and users; delta 1e-5."""
    by_seed = [_measure_seed(seed) for seed in range(N_SEEDS)]
    return [_average(e, [runs[i] for runs in by_seed]) for i, e in enumerate(EPSILONS)]


def _measure_seed(seed: int) -> list[Utility]:
    rng = study_rng(seed)
    population = aol_like(rng=rng)
    n_users = population.n_users
    query_ids, url_ids = population.sample_records(n_users, rng=rng)
    is_optin = rng.random(n_users) < OPTIN_FRACTION
    truth = count_records(query_ids, url_ids)
    utilities = []
    for epsilon in EPSILONS:
        params = BlenderParams(epsilon, "1e-5", max_head_size=MAX_HEAD_SIZE)
        release = simulate(query_ids, url_ids, is_optin, params, rng=rng)
        utilities.append(
            evaluate(
                release.head_list,
                release.records.projected,
                release.queries.projected,
                truth,
                n_users,
                MAX_HEAD_SIZE,
            )
        )
    return utilities


def _average(epsilon: int, runs: list[Utility]) -> FidelityRow:
    ndcg = np.array([run.ndcg_queries for run in runs])
    return FidelityRow(
        epsilon,
        float(ndcg.mean()),
        float(ndcg.std(ddof=1) / np.sqrt(len(ndcg))),
        float(np.mean([run.ndcg_of_ndcgs for run in runs])),
        float(np.mean([run.l1_queries for run in runs])),
        float(np.mean([run.l1_records for run in runs])),
    )


def as_markdown(rows: list[FidelityRow]) -> str:
    """Return the table, the paper's values beside ours."""
    lines = [
        "| epsilon | NDCG, JPC19 figure 12 | NDCG, ours (queries) | NDCG of NDCGs | L1 (queries) "
        "| L1 (records) |",
        "|---|---|---|---|---|---|",
    ]
    for row, published in zip(rows, JPC19_FIGURE_12, strict=True):
        lines.append(
            f"| {row.epsilon} | {published:.3f} "
            f"| {row.ndcg_queries:.3f} ± {row.ndcg_standard_error:.3f} "
            f"| {row.ndcg_of_ndcgs:.3f} | {row.l1_queries:.4f} | {row.l1_records:.4f} |"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    print(as_markdown(measure()))
