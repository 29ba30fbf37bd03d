"""Before anybody pays: would the release list anything at all?

The answer comes from public facts: sizes of groups, parameters, and the list that is published
now or, if there is none, a synthetic profile. Nothing of the log is looked at.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

from hybriddp import high_utility
from hybriddp.arrays import FloatArray
from hybriddp.forecast import LEAST_RECORDS, expected_named
from hybriddp.headlist import HeadListMechanism
from hybriddp.params import PAPER
from hybriddp.populations import POPULATIONS, study_rng
from hybriddp.zealous import ZealousMechanism
from tasks.engine import open_warehouse
from tasks.groups import HEADLIST
from tasks.ledger_rules import Kind
from tasks.lists import latest_folder, read_list
from tasks.log_files import BadInput
from tasks.quality import GateRefused
from tasks.request import ReleaseRequest
from tasks.run import SearchRun
from tasks.zealous_request import ZealousRequest

_PROFILE, _PROFILE_SEED = "aol-like", 1


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


def expect_a_list(run: SearchRun) -> Forecast | None:
    """Refuse a release that would list nothing, before anybody pays; None if they have."""
    if run.state.has(Kind.RESERVED) or not run.needs_the_log:
        return None
    forecast = forecast_of(run, candidate_sizes(run))
    if forecast.n_records < LEAST_RECORDS and not run.request.ignore_plan:
        raise GateRefused(
            f"the list of {run.request.epoch} would be empty: {forecast.words}. Nobody was "
            "charged. Lower the rotation, let more people opt in, or raise epsilon; `hybriddp "
            "plan` predicts other settings. If you know better, say --ignore-plan (ignore_plan)."
        )
    return forecast


def candidate_sizes(run: SearchRun) -> dict[str, int]:
    """Return how many people would serve in each group; that is public."""
    with open_warehouse(run.home.warehouse(run.release_id)) as engine:
        engine.step("candidate_sizes")
        rows = engine.fetch("candidate_sizes").to_pylist()
    return {row["cohort"]: int(row["n_people"]) for row in rows}


def forecast_of(run: SearchRun, sizes: Mapping[str, int]) -> Forecast:
    """Predict a release from the sizes of its groups."""
    request = run.request
    before = latest_folder(run.home, request.product, request.locale)
    if isinstance(request, ZealousRequest):
        return _of_histograms(request, sizes, before)
    assert isinstance(request, ReleaseRequest)
    return _of_head_list(request, sizes.get(HEADLIST, 0), before)


def _of_head_list(request: ReleaseRequest, n_people: int, before: Path | None) -> Forecast:
    params = request.params()
    mechanism = (
        HeadListMechanism.for_budget(params.budget)
        if params.strategy == PAPER
        else high_utility.finding_mechanism(params)
    )
    units = mechanism.records_per_user
    law, prior = _published_law(before, "head_list"), "the list that is published now"
    if law is None:
        law, prior = _profile_law(), f"the synthetic profile {_PROFILE}"
    n_records = expected_named(mechanism, n_people, law, units)
    return Forecast(n_records, n_people, (mechanism.threshold + 1) / units, prior)


def _of_histograms(
    request: ZealousRequest, sizes: Mapping[str, int], before: Path | None
) -> Forecast:
    n_records, n_needed, prior = 0.0, [], "an item that everybody has"
    for kind, budget in request.prices().items():
        n_people = sizes.get(kind, 0)
        mechanism = ZealousMechanism.for_budget(
            budget, request.relaxation, request.items_per_user, max(n_people, 1)
        )
        n_needed.append(mechanism.threshold + 1)
        law = _published_law(before, kind, per=kind)
        if law is None:
            law = np.ones(1)  # nothing is known but that more people cannot have it
        else:
            prior = "the histograms that are published now"
        n_records += expected_named(mechanism, n_people, law)
    return Forecast(n_records, max(sizes.values(), default=0), min(n_needed), prior)


def _published_law(folder: Path | None, name: str, per: str | None = None) -> FloatArray | None:
    """Return a published list's probabilities, or shares of the people who were counted."""
    if folder is None:
        return None
    try:
        weights = np.array(list(read_list(folder, name).values()))
        manifest = json.loads((folder / "manifest.json").read_bytes())
        whole = 1 if per is None else max(int(manifest["guarantees"][per]["people"]), 1)
    except (BadInput, OSError, ValueError, KeyError):
        return None  # another kind of release, or another choice of histograms
    return weights / whole if len(weights) else None


@lru_cache(maxsize=1)
def _profile_law() -> FloatArray:
    return POPULATIONS[_PROFILE](rng=study_rng(_PROFILE_SEED)).record_probabilities
