"""Do intervals cover, how near is the floor, and does the cross-check find what is planted?"""

import numpy as np

from hybriddp.arrays import BoolArray, FloatArray, IntArray
from hybriddp.blender.clients import client_mechanism, reports_per_client
from hybriddp.blender.estimation.intervals import rank_intervals
from hybriddp.blender.headlist import HeadList
from hybriddp.blender.mechanisms import finding_mechanism
from hybriddp.blender.simulate import SimulatedRelease, Tamper
from hybriddp.params import PAPER, BlenderParams
from hybriddp.randomizers.laws import client_response
from hybriddp.randomizers.subset import SubsetResponse
from hybriddp.studies.blender.users import Users

Row = dict[str, float | str | None]

# What somebody plants in a release, to see whether the cross-check finds it.
NOTHING, DRIFT, TOPIC, FAKES = "nothing", "drift", "topic", "fakes"
PLANTS = (NOTHING, DRIFT, TOPIC, FAKES)
# A tenth of the opt-in people search differently; half a percent of the clients lie.
DRIFTING, LYING = 0.1, 0.005
# Whose url the false reports push: the sixth record of the list.
_PUSHED = 5
_N_SHUFFLED = 50

# Records are judged against the floor where the threshold hardly matters: three times above it.
_CLEAR_OF_THRESHOLD = 3


def calibration_row(release: SimulatedRelease, users: Users, params: BlenderParams) -> Row:
    """Compare intervals, ranks and squared errors with the law that users were drawn from.

    Privacy claim: none; synthetic data.
    """
    head_list, records, queries = release.head_list, release.records, release.queries
    if head_list.n_records == 0:
        return {}
    truth = users.law_of_cells(head_list)
    cells, shown = head_list.record_cells, records.projected
    sums = np.add.reduceat(truth, head_list.cell_starts)[:-1]
    of_records = covered(records.low[cells], records.high[cells], truth[cells])
    low, high = rank_intervals(shown[cells], records.blended.variances[cells])
    ranks = np.empty(len(cells))
    ranks[np.argsort(-truth[cells], kind="stable")] = np.arange(1, len(cells) + 1)
    return {
        "coverage_records": of_records,
        "coverage_queries": covered(queries.low[:-1], queries.high[:-1], sums),
        "coverage_ranks": covered(low.astype(float), high.astype(float), ranks),
        "relative_width": float(
            np.median((records.high - records.low)[cells] / np.maximum(shown[cells], 1e-12))
        ),
        "error_over_floor": _over_floor(release, truth, params),
        "n_records": float(head_list.n_records),
    }


def covered(low: FloatArray, high: FloatArray, truth: FloatArray) -> float:
    """Return the share of intervals that hold the truth.

    Privacy claim: none; synthetic data.
    """
    return float(((low <= truth) & (truth <= high)).mean())


def _over_floor(
    release: SimulatedRelease, truth: FloatArray, params: BlenderParams
) -> float | None:
    """Return the mean squared error as a part of 1/(1/v_central + 1/v_local), over clear records.

    v_central is the variance of all opt-in users' noisy counts, v_local that of subset selection
    over the list's cells by all clients.
    """
    if params.strategy == PAPER or params.max_records_optin > 1:
        return None
    head_list, cells = release.head_list, release.head_list.record_cells
    p, n_optin = truth[cells], release.n_headlist_users + release.n_histogram_users
    response = client_response(params, head_list.list_sizes.tolist())
    if not isinstance(response, SubsetResponse):
        return None
    gap, lie = float(response.p_truth - response.p_lie), float(response.p_lie)
    reported = lie + p * gap
    noise = 2 * (2 / float(params.budget.epsilon)) ** 2
    central = p * (1 - p) / n_optin + noise / n_optin**2
    local = reported * (1 - reported) / (release.n_clients * gap**2)
    floor = 1 / (1 / central + 1 / local)
    threshold = finding_mechanism(params).threshold
    is_clear = p * release.n_headlist_users >= _CLEAR_OF_THRESHOLD * threshold
    if not is_clear.any():
        return None
    return float(((release.records.projected[cells] - p) ** 2 / floor)[is_clear].mean())


def with_drift(
    users: Users, is_optin: BoolArray, plant: str, *, rng: np.random.Generator
) -> tuple[IntArray, IntArray]:
    """Return everybody's records, a tenth of the opt-in people's changed if that is the plant.

    DRIFT: they search the head's queries in another order of popularity. TOPIC: a fifth of them
    search for one and the same thing, the tenth query.

    Privacy claim: none; synthetic data.
    """
    query_ids, url_ids = users.query_ids.copy(), users.url_ids.copy()
    optin = np.flatnonzero(is_optin)
    others = optin[rng.random(len(optin)) < DRIFTING]
    if plant == DRIFT:
        in_head = others[query_ids[others] < _N_SHUFFLED]
        query_ids[in_head] = rng.permutation(_N_SHUFFLED)[query_ids[in_head]]
        url_ids[in_head] = 0
    elif plant == TOPIC:
        alike = others[rng.random(len(others)) < 0.2]
        query_ids[alike], url_ids[alike] = 9, 0
    return query_ids, url_ids


def false_reports(params: BlenderParams, n_clients: int, *, rng: np.random.Generator) -> Tamper:
    """Return what replaces the reports of half a percent of the clients by one url.

    Each of them reports that url, and whatever else a report must hold at random.

    Privacy claim: none; synthetic data.
    """

    def tamper(head_list: HeadList, counts: IntArray) -> IntArray:
        if head_list.n_records == 0:
            return counts
        per_client = reports_per_client(client_mechanism(head_list, params))
        n_false = round(LYING * n_clients)
        # Whose honest reports are missing does not matter: on average they are like all others.
        honest = rng.multivariate_hypergeometric(counts, n_false * per_client, method="marginals")
        cell = int(head_list.record_cells[min(_PUSHED, head_list.n_records - 1)])
        others = np.delete(np.arange(head_list.n_cells), cell)
        pushed = counts - honest
        pushed[cell] += n_false
        filler = rng.multinomial(n_false * (per_client - 1), np.full(len(others), 1 / len(others)))
        pushed[others] += filler
        return pushed

    return tamper


def agreement_row(release: SimulatedRelease, plant: str) -> Row:
    """Say whether the cross-check raised its voice, and at the right record.

    Privacy claim: none; synthetic data.
    """
    check = release.check
    if check.n_records == 0:
        return {}
    pushed = min(_PUSHED, check.n_records - 1)
    return {
        "alarm": float(check.p_value < 1e-3),
        "withheld": float(check.p_value < 1e-6),
        "suspicious": float(check.is_suspicious.sum()),
        "found_pushed": float(check.is_suspicious[pushed]) if plant == FAKES else None,
        "n_records": float(check.n_records),
    }
