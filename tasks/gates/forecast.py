"""Before anybody pays: would the release list anything at all?

The answer comes from public facts: sizes of groups, parameters, and the list that is published
now or, if there is none, a synthetic profile. Nothing of the log is looked at.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from hybriddp.arrays import FloatArray
from hybriddp.planning.forecast import LEAST_RECORDS
from hybriddp.planning.populations import study_rng
from hybriddp.planning.profiles import POPULATIONS
from tasks.gates.lists import latest_folder, read_list
from tasks.gates.quality import GateRefused
from tasks.ledger.rules import Kind
from tasks.log.raw.files import BadInput
from tasks.log.warehouse import open_candidates
from tasks.release.run import SearchRun
from tasks.verify.reading import Misfit, read_manifest

PROFILE, _PROFILE_SEED = "aol-like", 1


@dataclass(frozen=True, slots=True)
class Forecast:
    """How many records are expected, how many people decide, and by what it was judged."""

    n_records: float
    n_people: int
    n_needed: float  # people who must share a record, about
    prior: str

    @property
    def words(self) -> str:
        """Say it in one sentence."""
        return (
            f"{self.n_people:,} people would decide what is listed, a record needs about "
            f"{self.n_needed:.0f} of them, and {self.n_records:.2g} records are expected by "
            f"{self.prior}"
        )


# Of a request, the sizes of its groups, and the list that is published now, if one is.
ForecastOf = Callable[[Any, Mapping[str, int], Path | None], Forecast]


def expect_a_list(forecast_of: ForecastOf, run: SearchRun) -> Forecast | None:
    """Refuse a release that would list nothing, before anybody pays; None if they have."""
    if run.state.has(Kind.RESERVED) or not run.needs_the_log:
        return None
    before = latest_folder(run.home, run.request.product, run.request.locale)
    forecast = forecast_of(run.request, candidate_sizes(run), before)
    if forecast.n_records < LEAST_RECORDS and not run.request.ignore_plan:
        raise GateRefused(
            f"the list of {run.request.epoch} would be empty: {forecast.words}. Nobody was "
            "charged. Lower the rotation, let more people opt in, or raise epsilon; `hybriddp "
            "plan` predicts other settings. If you know better, say --ignore-plan (ignore_plan)."
        )
    return forecast


def candidate_sizes(run: SearchRun) -> dict[str, int]:
    """Return how many people would serve in each group; that is public."""
    with open_candidates(run) as engine:
        engine.step("ledger/candidate_sizes")
        rows = engine.fetch("candidate_sizes").to_pylist()
    return {row["cohort"]: int(row["n_people"]) for row in rows}


def published_law(folder: Path | None, name: str, per: str | None = None) -> FloatArray | None:
    """Return a published list's probabilities, or shares of the people who were counted."""
    if folder is None:
        return None
    try:
        weights = np.array(list(read_list(folder, name).values()))
        manifest = read_manifest((folder / "manifest.json").read_bytes())
        whole = 1 if per is None else max(manifest.guarantees[per].people, 1)
    except (BadInput, Misfit, OSError, ValueError, KeyError):
        return None  # another kind of release, or another choice of histograms
    return weights / whole if len(weights) else None


@lru_cache(maxsize=1)
def profile_law() -> FloatArray:
    return POPULATIONS[PROFILE](rng=study_rng(_PROFILE_SEED)).record_probabilities
