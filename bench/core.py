"""How fast the library is, as multiples of what numpy needs for comparable work."""

import time
from collections.abc import Callable
from statistics import median

import numpy as np

from hybriddp.blender.estimation.denoise import denoise
from hybriddp.blender.estimation.estimates import project
from hybriddp.blender.headlist import HeadList
from hybriddp.params import BlenderParams
from hybriddp.planning.populations import study_rng
from hybriddp.randomizers.stages import TwoStageResponse
from hybriddp.randomizers.two_stage import ClientMechanism

Measured = tuple[str, float, float]

REPETITIONS = 7
N_CLIENTS = 5_000_000
N_VALUES = 1_000_000


def _ratio(work: Callable[[], object], reference: Callable[[], object]) -> float:
    """Return the median ratio of neighbouring measurements, which shares the machine's noise."""
    reference(), work()  # touch the memory once, so that page faults fall on neither side
    ratios = []
    for _ in range(REPETITIONS):
        start = time.perf_counter()
        reference()
        middle = time.perf_counter()
        work()
        ratios.append((time.perf_counter() - middle) / (middle - start))
    return median(ratios)


def _head_list(n_queries: int, urls_per_query: int) -> HeadList:
    return HeadList(
        np.arange(n_queries),
        np.full(n_queries, urls_per_query),
        np.tile(np.arange(urls_per_query), n_queries),
    )


def _client_simulation() -> list[Measured]:
    rng = study_rng(1)
    head_list = _head_list(500, 3)
    mechanism = ClientMechanism.for_head_list(head_list, BlenderParams(4, "1e-7"))
    # Most people search for something that is not on the list.
    cells = np.where(
        rng.random(N_CLIENTS) < 0.85,
        head_list.n_cells - 1,
        rng.integers(0, head_list.n_cells, N_CLIENTS),
    )
    label = "5 M clients, 500 queries / 5 M uniform numbers"

    def uniform() -> object:
        return rng.random(N_CLIENTS)

    return [
        (f"{label}: OS randomness", _ratio(lambda: mechanism.draw(cells), uniform), 20.0),
        (f"{label}: rng", _ratio(lambda: mechanism.simulate(cells, rng=rng), uniform), 20.0),
    ]


def _projection() -> list[Measured]:
    values = study_rng(2).normal(size=N_VALUES)
    ratio = _ratio(lambda: project(values), lambda: np.sort(values))
    return [("projection of 1 M values / numpy.sort", ratio, 5.0)]


def _denoising() -> list[Measured]:
    """Ten times the cells may take ten times as long; the slack is for caches and noise."""
    rng, work = study_rng(3), []
    for n_queries in (20_000, 200_000):
        head_list = _head_list(n_queries, 3)
        response = TwoStageResponse.for_budgets(
            BlenderParams().client_query_budget,
            BlenderParams().client_url_budget,
            head_list.list_sizes.tolist(),
        )
        counts = rng.integers(0, 100, head_list.n_cells)
        work.append(lambda response=response, counts=counts: denoise(response, counts))
    return [("denoising 10x the cells / 1x", _ratio(work[1], work[0]), 15.0)]


def measure() -> list[Measured]:
    """Return (label, ratio, limit) for every speed that the library promises."""
    return [*_client_simulation(), *_projection(), *_denoising()]
