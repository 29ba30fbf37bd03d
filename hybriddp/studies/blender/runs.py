"""One run of a study: a setting on the users of a seed, measured against their truth."""

from dataclasses import replace

import numpy as np

from hybriddp.arrays import FloatArray, IntArray
from hybriddp.blender.estimation.estimates import project
from hybriddp.blender.headlist import HeadList
from hybriddp.blender.metrics import evaluate
from hybriddp.blender.simulate import SimulatedRelease, simulate
from hybriddp.params import HIGH_UTILITY, PAPER, Budget
from hybriddp.planning.populations import study_rng
from hybriddp.planning.profiles import TOP_QUERY_PROBABILITIES
from hybriddp.randomizers.one_stage import SubsetMechanism
from hybriddp.studies.blender.checks import (
    FAKES,
    agreement_row,
    calibration_row,
    false_reports,
    with_drift,
)
from hybriddp.studies.blender.local_baselines import FrequencyOracle
from hybriddp.studies.blender.prefixes import find_queries
from hybriddp.studies.blender.settings import (
    AGREEMENT,
    CALIBRATION,
    COMMON,
    PREFIXES,
    SUBSET,
    TOP_QUERIES,
    Setting,
    derived_seed,
)
from hybriddp.studies.blender.users import Users

# A row of results: measures by name, None where there is none, and the `part` that they are of.
Row = dict[str, float | str | None]

BLENDED, OPTIN_PART, CLIENT_PART = "blended", "opt-in", "clients"
WILDCARD = "*"
_N_TOP_QUERIES = len(TOP_QUERY_PROBABILITIES)


def run_setting(study: str, setting: Setting, seed: int, users: Users) -> list[Row]:
    """Run a setting once; one row for each part that is measured.

    A release has three parts: what is published, and what either group says alone. The same
    study, setting and seed give the same rows.
    """
    rng = study_rng(derived_seed(study, setting, seed))
    if setting.method == PREFIXES:
        return [_search(setting, users, rng)]
    if setting.kind == AGREEMENT:
        return [{"part": BLENDED, **_agreement(setting, users, rng)}]
    if setting.method in (PAPER, HIGH_UTILITY):
        release = _release(setting, users, rng)
        if setting.kind == CALIBRATION:
            params = setting.params(setting.method)
            return [{"part": BLENDED, **calibration_row(release, users, params)}]
        if setting.kind == TOP_QUERIES:
            return _top_queries(release, users)
        rows: list[Row] = [
            {"part": part, **_measure(release.head_list, *shown, users, setting.max_head_size)}
            for part, shown in _parts(release, setting.method).items()
        ]
        if setting.kind == COMMON:
            rows[0]["l1_common"] = _l1_common(study, setting, seed, release, users)
        return rows
    # The list of the very run of strategy `paper` with this seed: a local method gets it free.
    twin = replace(setting, method=PAPER)
    head_list = _release(twin, users, study_rng(derived_seed(study, twin, seed))).head_list
    cells = _report_locally(setting, head_list, users, rng)
    queries = np.add.reduceat(cells, head_list.cell_starts)
    return [{"part": BLENDED, **_measure(head_list, cells, queries, users, setting.max_head_size)}]


def _release(setting: Setting, users: Users, rng: np.random.Generator) -> SimulatedRelease:
    is_optin = users.is_optin(setting.optin_fraction)
    params = setting.params(setting.method)
    return simulate(*users.records(params.max_records_optin), is_optin, params, rng=rng)


def _l1_common(
    study: str, setting: Setting, seed: int, release: SimulatedRelease, users: Users
) -> float:
    """Return the L1 error over the queries that the other strategy lists, too."""
    other = HIGH_UTILITY if setting.method == PAPER else PAPER
    twin = replace(setting, method=other)
    twin_list = _release(twin, users, study_rng(derived_seed(study, twin, seed))).head_list
    ids = release.head_list.query_ids
    is_common = np.isin(ids, twin_list.query_ids)
    shown = release.queries.projected[:-1][is_common]
    return float(np.abs(shown - users.query_counts(ids[is_common]) / users.n_users).sum())


def _agreement(setting: Setting, users: Users, rng: np.random.Generator) -> Row:
    is_optin, params = users.is_optin(setting.optin_fraction), setting.params(setting.method)
    records = with_drift(users, is_optin, setting.plant, rng=rng)
    n_clients = int((~is_optin).sum())
    tamper = false_reports(params, n_clients, rng=rng) if setting.plant == FAKES else None
    release = simulate(*records, is_optin, params, rng=rng, tamper=tamper)
    return agreement_row(release, setting.plant)


def _parts(release: SimulatedRelease, strategy: str) -> dict[str, tuple[FloatArray, FloatArray]]:
    """Return the probabilities of cells and queries that each group alone, and both, publish."""
    records, queries = release.records, release.queries
    parts = {BLENDED: (records.projected, queries.projected)}
    clients = project(records.clients.values)
    if strategy == PAPER:
        is_known = np.isfinite(records.optin.variances)  # <q,*> is not
        optin = np.zeros(len(clients))
        if is_known.any():
            optin[is_known] = project(records.optin.values[is_known])
        parts[OPTIN_PART] = (optin, project(queries.optin.values))
        parts[CLIENT_PART] = (clients, project(queries.clients.values))
    else:
        # Posterior means are probabilities already.
        parts[OPTIN_PART] = (records.optin.values, queries.optin.values)
        sums = np.add.reduceat(clients, release.head_list.cell_starts)
        parts[CLIENT_PART] = (clients, sums)
    return parts


def _measure(
    head_list: HeadList, cells: FloatArray, queries: FloatArray, users: Users, max_head_size: int
) -> Row:
    truth = users.truth_about(head_list)
    utility = evaluate(head_list, cells, queries, truth, users.n_users, max_head_size)
    is_empty = head_list.n_queries == 0
    return {
        # Nothing was published, so nothing was wrong: a 0 would look like perfection.
        "l1_records": None if is_empty else utility.l1_records,
        "l1_queries": None if is_empty else utility.l1_queries,
        "l1_top_queries": l1_of_top(head_list.query_ids, queries, users, max_head_size),
        "ndcg_queries": utility.ndcg_queries,
        "ndcg_of_ndcgs": utility.ndcg_of_ndcgs,
        "n_queries": float(head_list.n_queries),
        "n_records": float(head_list.n_records),
    }


def l1_of_top(
    query_ids: IntArray, probabilities: FloatArray, users: Users, max_head_size: int
) -> float:
    """Return the L1 error over the true top queries and the listed ones; an unlisted one has 0.

    Unlike the paper's L1 it does not get better by listing less.

    Privacy claim: none; synthetic data.
    """
    judged = np.union1d(query_ids, users.top_queries[:max_head_size])
    shown = np.zeros(len(judged))
    shown[np.searchsorted(judged, query_ids)] = probabilities[: len(query_ids)]
    return float(np.abs(shown - users.query_counts(judged) / users.n_users).sum())


def _report_locally(
    setting: Setting, head_list: HeadList, users: Users, rng: np.random.Generator
) -> FloatArray:
    """Let all users report their cell, and project the estimates as the paper does."""
    cells, n_cells = head_list.cells_of(users.query_ids, users.url_ids), head_list.n_cells
    if n_cells == 1:
        return np.ones(1)
    if setting.method == SUBSET:
        mechanism = SubsetMechanism.for_cells(Budget(setting.epsilon), n_cells)
        law = mechanism.response
        supports = mechanism.simulate(cells, rng=rng)
        oracle = FrequencyOracle(SUBSET, n_cells, float(law.p_truth), float(law.p_lie))
    else:
        oracle = FrequencyOracle.for_epsilon(setting.method, setting.epsilon, n_cells)
        supports = oracle.simulate(np.bincount(cells, minlength=n_cells), rng=rng)
    return project(oracle.estimate(supports, users.n_users))


def _search(setting: Setting, users: Users, rng: np.random.Generator) -> Row:
    """Let all users find the list themselves; the protocol knows queries only, no urls."""
    found = find_queries(users.query_ids, setting.epsilon, setting.max_head_size, rng=rng)
    order = np.argsort(found.query_ids)
    ids, shown = found.query_ids[order], found.probabilities[order]
    head_list = HeadList(ids, np.ones_like(ids), np.zeros_like(ids))
    cells = np.zeros(head_list.n_cells)
    row = _measure(head_list, cells, shown, users, setting.max_head_size)
    without_urls = dict.fromkeys(("l1_records", "ndcg_of_ndcgs", "n_records"))
    return {"part": BLENDED, **row, **without_urls}


def _top_queries(release: SimulatedRelease, users: Users) -> list[Row]:
    """Return what each group says of the population's first queries (JPC19 figure 9)."""
    head_list, queries = release.head_list, release.queries
    ids = np.arange(_N_TOP_QUERIES)
    truth = users.query_counts(ids) / users.n_users
    listed_mass = float(users.query_counts(head_list.query_ids).sum()) / users.n_users
    sums = np.add.reduceat(release.records.clients.values, head_list.cell_starts)
    columns = {
        "p_blended": queries.projected,
        "p_optin": queries.optin.values,
        "p_clients": queries.clients.values,
        "p_clients_summed": sums,
    }
    rows = []
    position = np.searchsorted(head_list.query_ids, ids)
    is_listed = np.append(head_list.query_ids, -1)[position] == ids
    wildcard = (WILDCARD, 1 - listed_mass, head_list.n_queries, True)
    named = [(str(i + 1), float(truth[i]), int(position[i]), bool(is_listed[i])) for i in ids]
    for part, true, place, has_place in [wildcard, *named]:
        shown = {
            name: float(values[place]) if has_place else None for name, values in columns.items()
        }
        blended = shown["p_blended"]
        error = None if blended is None else abs(blended - true)
        rows.append(
            {"part": part, "p_true": true, **shown, "abs_error": error, "listed": float(has_place)}
        )
    return rows
