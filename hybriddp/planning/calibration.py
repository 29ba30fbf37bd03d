"""Fit a published list's tail to what the list itself shows: how many queries it holds.

Which queries were found depends on how many people held them, and that threshold is public. So
a tail is right if the published release, rehearsed with it, finds as many queries as it did.
"""

from collections.abc import Callable, Sequence

import numpy as np

from hybriddp.planning.populations import study_rng
from hybriddp.planning.prior import Prior, tail_slope
from hybriddp.planning.rehearsals.weighted import stage_of
from hybriddp.planning.setting import Setting

# Slopes that are considered: logs of searches lie well inside.
_LEAST_SLOPE, _LARGEST_SLOPE = 0.5, 2.0
_STEPS = 7
_N_REPLICATES = 4
# Within this part of the published number, what the head alone says is good enough.
_CLOSE = 0.05


def prior_of_release(
    name: str,
    query_probabilities: Sequence[float],
    url_shares: Sequence[Sequence[float]],
    *,
    setting: Setting,
    n_listed: int,
    seed: int = 1,
    count: Callable[[Prior], float] | None = None,
) -> tuple[Prior, float]:
    """Return the prior that a release suggests, and how its tail falls.

    `setting` is how that release was made and `n_listed` how many queries it found, of which
    `query_probabilities` are those that are surely there. The head's own slope is kept if it
    explains the number; else the slope is bisected until it does. `count` says how many a release
    finds that was not made at once.
    """

    def found(slope: float) -> tuple[Prior, float]:
        prior = Prior.of_list(name, query_probabilities, url_shares, slope=slope)
        if count is not None:
            return prior, count(prior)
        rng, stage = study_rng(seed), stage_of(prior, setting)
        return prior, float(np.mean([stage.count_found(rng=rng) for _ in range(_N_REPLICATES)]))

    own = min(max(tail_slope(query_probabilities), _LEAST_SLOPE), _LARGEST_SLOPE)
    prior, n_found = found(own)
    if abs(n_found - n_listed) <= max(_CLOSE * n_listed, 1):
        return prior, own
    # A steeper tail has fewer frequent queries, so fewer are found. A full list says only that
    # there were enough: then the steepest tail that fills it is taken.
    most = n_listed - 0.5 if n_listed >= setting.params.max_head_size else n_listed
    low, high = (own, _LARGEST_SLOPE) if n_found > most else (_LEAST_SLOPE, own)
    for _ in range(_STEPS):
        own = (low + high) / 2
        prior, n_found = found(own)
        low, high = (own, high) if n_found > most else (low, own)
    return prior, own
