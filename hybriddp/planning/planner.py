"""Predict what a release would give, before any budget is spent and never from raw data.

Rehearse the release on a public prior a few times and take means. Nothing here is private: the
prior is synthetic or made of a published list, and the noise is a study's.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from hybriddp.arrays import FloatArray
from hybriddp.blender.metrics import evaluate
from hybriddp.errors import require
from hybriddp.planning.populations import study_rng
from hybriddp.planning.prior import Prior
from hybriddp.planning.rehearsals.counted import Rehearsal
from hybriddp.planning.rehearsals.weighted import stage_of
from hybriddp.planning.setting import Setting

N_REPLICATES = 20

# What is predicted, in the order in which it is shown.
QUANTITIES = (
    "head_queries",
    "head_records",
    "covered_mass",
    "l1_records",
    "l1_queries",
    "ndcg_queries",
    "ndcg_of_ndcgs",
    "interval_margin",
    "interval_relative",
    "missing_share",
    "spurious_share",
)


@dataclass(frozen=True, slots=True)
class Quantity:
    """A predicted number: its mean, and how much it differs from release to release.

    Both are None where no release would have it, such as an interval on an empty list.
    """

    mean: float | None
    sd: float | None

    @property
    def value(self) -> float:
        """The mean, or not a number."""
        return float("nan") if self.mean is None else self.mean


@dataclass(frozen=True, slots=True)
class Prediction:
    """What a setting would give; `quantities` has one entry for each of QUANTITIES."""

    setting: Setting
    threshold: float  # noisy users that a record needs to be named
    quantities: Mapping[str, Quantity]

    def __getitem__(self, name: str) -> Quantity:
        return self.quantities[name]

    @property
    def is_empty(self) -> bool:
        """Whether less than half a query is expected on the list."""
        return self["head_queries"].value < 0.5


def predict(
    prior: Prior, setting: Setting, *, seed: int = 1, n_replicates: int = N_REPLICATES
) -> Prediction:
    """Rehearse a release some times; the same seed gives the same prediction."""
    require(n_replicates >= 2, "n_replicates must be >= 2", n_replicates, "20 is the default")
    rng, stage = study_rng(seed), stage_of(prior, setting)
    rows = [_measures(stage.rehearse(rng=rng), setting) for _ in range(n_replicates)]
    return Prediction(
        setting,
        stage.mechanism.people_needed,
        {name: _quantity(np.array([row[name] for row in rows])) for name in QUANTITIES},
    )


def _quantity(values: FloatArray) -> Quantity:
    known = values[np.isfinite(values)]
    if 2 * len(known) < len(values):
        return Quantity(None, None)
    sd = float(known.std(ddof=1)) if len(known) > 1 else None
    return Quantity(float(known.mean()), sd)


def _measures(rehearsal: Rehearsal, setting: Setting) -> dict[str, float]:
    """Measure one release as studies measure a real one."""
    head_list, size = rehearsal.head_list, setting.params.max_head_size
    utility = evaluate(
        head_list,
        rehearsal.records.projected,
        rehearsal.queries.projected,
        rehearsal.truth,
        setting.n_users,
        size,
    )
    margin, relative = _margins(rehearsal)
    missing, spurious = _misses(rehearsal, size)
    return {
        "head_queries": float(head_list.n_queries),
        "head_records": float(head_list.n_records),
        "covered_mass": rehearsal.covered,
        "l1_records": utility.l1_records,
        "l1_queries": utility.l1_queries,
        "ndcg_queries": utility.ndcg_queries,
        "ndcg_of_ndcgs": utility.ndcg_of_ndcgs,
        "interval_margin": margin,
        "interval_relative": relative,
        "missing_share": missing,
        "spurious_share": spurious,
    }


def _margins(rehearsal: Rehearsal) -> tuple[float, float]:
    """Return half the width of the median record's interval, and as a part of its probability."""
    records, cells = rehearsal.records, rehearsal.head_list.record_cells
    if not len(cells):
        return float("nan"), float("nan")
    margins, shown = (records.high - records.low)[cells] / 2, records.projected[cells]
    relative = np.divide(margins, shown, out=np.full(len(cells), np.inf), where=shown > 0)
    return float(np.median(margins)), float(np.median(relative))


def _misses(rehearsal: Rehearsal, size: int) -> tuple[float, float]:
    """Return the shares of the true top that is not listed, and of the list that is not top."""
    truth, listed = rehearsal.truth, rehearsal.head_list.query_ids
    by_query = np.bincount(truth.query_ids, truth.counts)
    top = np.sort(by_query[by_query > 0])[::-1][:size]
    if not len(top):
        return 0.0, 0.0
    # A listed query as frequent as the last of the top counts as one of it.
    own = np.append(by_query, 0)[np.minimum(listed, len(by_query))]
    n_hits = int((own >= top[-1]).sum())
    missing = 1 - n_hits / len(top)
    return max(missing, 0.0), 1 - n_hits / len(listed) if len(listed) else float("nan")
