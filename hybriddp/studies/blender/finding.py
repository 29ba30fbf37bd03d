"""How a list is found, by people with few or many records: counts against weights."""

from dataclasses import dataclass, replace

import numpy as np

from hybriddp.arrays import BoolArray, IntArray
from hybriddp.blender.headlist import RecordCounts
from hybriddp.blender.metrics import evaluate
from hybriddp.blender.simulate import SimulatedRelease, simulate, simulate_searches
from hybriddp.blender.weighted.searches import Searches
from hybriddp.errors import require_one_of
from hybriddp.params import GAUSSIAN, HIGH_UTILITY, PAPER, BlenderParams, usual_finding
from hybriddp.planning.populations import Population, study_rng
from hybriddp.planning.profiles import POPULATIONS
from hybriddp.studies.blender.checks import covered
from hybriddp.studies.blender.settings import derived_seed
from hybriddp.studies.blender.users import draw_law, frequent_records, law_of_cells
from hybriddp.studies.synthetic.log import RECORDS_LOGNORMAL_SIGMA

# BLENDER as published; ours with one record a person, and with five of the weight of one; weights.
FIVE = "five records"
FINDERS = (PAPER, HIGH_UTILITY, FIVE, GAUSSIAN)
# The longest list that is looked at, and the top that it should hold.
_N_TOP = 50
# Probabilities as counts of so many.
_SCALE = 10**12
_MOST_RECORDS = 1_000

Row = dict[str, float | str | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class FindingSetting:
    """Everything that decides a run, but the seed."""

    population: str = "aol-like"
    records_per_user: float = 1.0  # the median; with 1 everybody has one
    epsilon: float = 4.0
    delta: float = 1e-5
    optin_fraction: float = 0.05
    max_head_size: int = 100
    method: str = GAUSSIAN
    kind: str = "finding"
    is_quick: bool = False

    def __post_init__(self) -> None:
        for name in ("records_per_user", "epsilon", "delta", "optin_fraction"):
            object.__setattr__(self, name, float(getattr(self, name)))
        require_one_of(self.method, "method", FINDERS)
        require_one_of(self.population, "population", tuple(POPULATIONS))

    @property
    def params(self) -> BlenderParams:
        """The parameters of a release in this setting."""
        is_weighted = self.method == GAUSSIAN
        # What is stated is two or more: this is what weights do even where they are not usual.
        _, records = usual_finding(HIGH_UTILITY, max(self.records_per_user, 2))
        return BlenderParams(
            self.epsilon,
            self.delta,
            strategy=PAPER if self.method == PAPER else HIGH_UTILITY,
            finding="gaussian" if is_weighted else "laplace",
            max_head_size=self.max_head_size,
            max_records_optin=records if is_weighted else 5 if self.method == FIVE else 1,
        )


def draw_shared_law(population: str, seed: int, *, is_quick: bool) -> Population:
    """Draw the law that all settings of this seed share."""
    rng = study_rng(derived_seed("law", population, is_quick, seed))
    return draw_law(population, is_quick, rng=rng)


def run_finding(study: str, setting: FindingSetting, seed: int, law: Population) -> list[Row]:
    """Publish once, and compare with the law; the people of a seed are the same for all methods."""
    release = _release(study, setting, seed, law)
    head = release.head_list
    truth = law_of_cells(law, head)
    cells, queries = head.record_cells, np.add.reduceat(truth, head.cell_starts)[:-1]
    shown, listed = release.records, release.queries
    query_ids, url_ids, probabilities = frequent_records(law)
    order = np.lexsort((url_ids, query_ids))
    counts = np.round(probabilities * _SCALE).astype(np.int64)
    exact = RecordCounts(query_ids[order], url_ids[order], counts[order])
    utility = evaluate(head, shown.projected, listed.projected, exact, _SCALE, _N_TOP)
    top = np.argsort(-law.query_probabilities, kind="stable")[:_N_TOP]
    row: Row = {
        "part": "blended",
        "n_queries": float(head.n_queries),
        "n_records": float(head.n_records),
        "top_queries": float(np.isin(top, head.query_ids).sum()),
        "l1_records": utility.l1_records if head.n_records else None,
        "ndcg_queries": utility.ndcg_queries,
        "ndcg_of_ndcgs": utility.ndcg_of_ndcgs,
        "l1_common_records": _l1_common(study, setting, seed, law, release),
    }
    if setting.method != PAPER and head.n_records:
        row["coverage_records"] = covered(shown.low[cells], shown.high[cells], truth[cells])
        row["coverage_queries"] = covered(listed.low[:-1], listed.high[:-1], queries)
    return [row]


def _release(study: str, setting: FindingSetting, seed: int, law: Population) -> SimulatedRelease:
    people = study_rng(derived_seed("people", setting.records_per_user, law.name, seed))
    searches, is_optin = draw_searches(law, setting, rng=people)
    parts = study, setting.method, setting.epsilon, setting.records_per_user, seed
    rng, params = study_rng(derived_seed("draws", *parts)), setting.params
    if params.is_weighted:
        return simulate_searches(searches, is_optin, params, rng=rng)
    return simulate(*_units(searches, params.max_records_optin), is_optin, params, rng=rng)


def draw_searches(
    law: Population, setting: FindingSetting, *, rng: np.random.Generator
) -> tuple[Searches, BoolArray]:
    """Draw people with about so many records; of clients one, since they report no other.

    Privacy claim: none; synthetic data.
    """
    n = law.n_users
    is_optin = rng.random(n) < setting.optin_fraction
    sizes = np.ones(n, dtype=np.int64)
    if setting.records_per_user > 1:
        median = np.log(setting.records_per_user)
        drawn = rng.lognormal(median, RECORDS_LOGNORMAL_SIGMA, int(is_optin.sum()))
        sizes[is_optin] = np.clip(np.round(drawn), 1, _MOST_RECORDS).astype(np.int64)
    return Searches(sizes, *law.sample_records(int(sizes.sum()), rng=rng)), is_optin


def _units(searches: Searches, n_units: int) -> tuple[IntArray, IntArray]:
    """Return so many records of each person, evenly; they are in random order already."""
    sizes = searches.n_records
    starts = np.cumsum(sizes) - sizes
    rows = starts[:, None] + np.arange(n_units) * sizes[:, None] // n_units
    return searches.query_ids[rows], searches.url_ids[rows]


def _l1_common(
    study: str, setting: FindingSetting, seed: int, law: Population, release: SimulatedRelease
) -> float | None:
    """Return the L1 error over the records that weights and five records both list."""
    twins = {GAUSSIAN: FIVE, FIVE: GAUSSIAN}
    if setting.method not in twins:
        return None
    twin = replace(setting, method=twins[setting.method])
    other = _release(study, twin, seed, law).head_list
    head = release.head_list
    records = np.stack([head.query_ids[head.query_of_record], head.url_ids], axis=1)
    theirs = {(int(q), int(u)) for q, u in zip(other.query_ids[other.query_of_record],
                                               other.url_ids, strict=True)}  # fmt: skip
    is_common = np.array([(int(q), int(u)) in theirs for q, u in records], dtype=np.bool_)
    cells = head.record_cells[is_common]
    errors = release.records.projected[cells] - law_of_cells(law, head)[cells]
    return float(np.abs(errors).sum())
