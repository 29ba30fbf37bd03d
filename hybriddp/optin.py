"""Opt-in group T: measure the probabilities of the named records.

A *record vector* here has one entry for each record of the head list and a last one for <*,*>.
"""

from dataclasses import dataclass

import numpy as np

from hybriddp.arrays import FloatArray, IntArray
from hybriddp.errors import require
from hybriddp.estimate import Estimate
from hybriddp.event_rules import REPLACE_ONE_SENSITIVITY
from hybriddp.events import OptinHistogram
from hybriddp.headlist import HeadList
from hybriddp.noise import DiscreteLaplace
from hybriddp.params import Budget


@dataclass(frozen=True, slots=True)
class HistogramMechanism:
    """Noisy counts over cells that were fixed beforehand (JPC19 figure 4, lines 10-12)."""

    budget: Budget
    noise: DiscreteLaplace
    l1_sensitivity: int = REPLACE_ONE_SENSITIVITY

    def __post_init__(self) -> None:
        _ = self.event  # refuses noise that costs more than the budget

    @classmethod
    def for_budget(
        cls, budget: Budget, l1_sensitivity: int = REPLACE_ONE_SENSITIVITY
    ) -> "HistogramMechanism":
        """Set the noise, by default for one record a user; the mechanism needs no delta."""
        noise = DiscreteLaplace.for_epsilon(budget.epsilon, l1_sensitivity)
        return cls(Budget(budget.epsilon), noise, l1_sensitivity)

    @property
    def event(self) -> OptinHistogram:
        """What the ledger records for one draw."""
        return OptinHistogram(self.budget, self.noise.scale, self.l1_sensitivity)

    def draw(self, counts: IntArray) -> IntArray:
        """Add noise to the count of every cell, empty ones included.

        Privacy claim
          Neighbours  one user's records replaced by any others or none
          Guarantee   (budget.epsilon, 0); the event refuses noise that costs more
          Assumes     the cells were fixed before these users' data was read; replacing a user
                      moves all counts together by at most `l1_sensitivity` (2: two by one)
          Excludes    timing of the sampler
          Charged as  events.OptinHistogram
          Reference   JPC19 figure 4, theorem 3.2; docs/proofs/optin_histogram.md
          Audit       tests/exact/test_optin.py::test_histogram_keeps_its_budget_on_small_logs
        """
        return self.noise.draw(counts)

    def simulate(self, counts: IntArray, *, rng: np.random.Generator) -> IntArray:
        """Add noise from a study's generator.

        Privacy claim: none; for studies and tests, whose data is synthetic.
        """
        return self.noise.simulate(counts, rng=rng)


def count_listed_records(head_list: HeadList, query_ids: IntArray, url_ids: IntArray) -> IntArray:
    """Count users by record; whoever holds no listed record counts as <*,*>.

    Privacy claim: none; the result is private and must stay with the curator.
    """
    cells = head_list.cells_of(query_ids, url_ids)
    by_cell = np.bincount(cells, minlength=head_list.n_cells)
    by_record = by_cell[head_list.record_cells]
    return np.append(by_record, len(query_ids) - by_record.sum()).astype(np.int64)


def estimate_variance(values: FloatArray, n_users: int, noise_variance: float) -> FloatArray:
    """Return v = p(1-p)/(n-1) + Var(Y)/(n(n-1)), infinite for n = 1 (JPC19 theorem 3.5).

    Differs from JPC19: p(1-p) is floored at 0, because noise can push an estimate out of
    [0, 1], and a negative variance would push the blend's weights out of [0, 1] too.

    Privacy claim: none; post-processing of estimates.
    """
    if n_users == 1:
        return np.full_like(values, np.inf)
    sampling = np.maximum(values * (1 - values), 0) / (n_users - 1)
    return sampling + noise_variance / (n_users * (n_users - 1))


def estimate_optin(noisy_counts: IntArray, n_users: int, noise_variance: float) -> Estimate:
    """Turn noisy counts of record vectors (..., n_records + 1) into probabilities.

    Privacy claim: none; post-processing of an OptinHistogram draw.
    """
    require(
        n_users >= 1,
        "the opt-in group that measures the head list must have at least 1 user",
        n_users,
        "lower headlist_user_fraction or enlarge the opt-in group",
    )
    values = noisy_counts / n_users
    return Estimate(values, estimate_variance(values, n_users, noise_variance))


def sum_by_query(head_list: HeadList, record_values: FloatArray) -> FloatArray:
    """Add up record vectors (..., n_records + 1) to queries (..., n_queries + 1), * last.

    Privacy claim: none; post-processing of estimates.
    """
    # Every query has at least one url, so each segment is non-empty, as reduceat needs.
    starts = np.append(np.cumsum(head_list.url_counts) - head_list.url_counts, head_list.n_records)
    return np.add.reduceat(record_values, starts, axis=-1)


def estimate_queries(
    head_list: HeadList, optin: Estimate, n_users: int, noise_variance: float
) -> Estimate:
    """Return the opt-in estimate of every query, * last (JPC19 section 4.2).

    The sum over urls, with the variance formula applied to that sum.

    Privacy claim: none; post-processing of an OptinHistogram draw.
    """
    marginals = sum_by_query(head_list, optin.values)
    return Estimate(marginals, estimate_variance(marginals, n_users, noise_variance))


def on_client_cells(head_list: HeadList, optin: Estimate) -> Estimate:
    """Bring the opt-in estimate to the clients' cells.

    In strategy `paper` the opt-in group knows nothing about <q,*>: infinite variance there.

    Privacy claim: none; post-processing of an OptinHistogram draw.
    """
    values, variances = np.zeros(head_list.n_cells), np.full(head_list.n_cells, np.inf)
    cells = np.append(head_list.record_cells, head_list.n_cells - 1)
    values[cells], variances[cells] = optin.values, optin.variances
    return Estimate(values, variances)


def trim(
    head_list: HeadList, optin: Estimate, max_head_size: int, n_users: int, noise_variance: float
) -> tuple[HeadList, Estimate]:
    """Keep the `max_head_size` likeliest queries; fold the others' estimates into <*,*>.

    JPC19 figure 4, lines 14-15. The variance of <*,*> is recomputed as if it were one cell,
    which the paper itself calls not statistically valid; strategy `paper` keeps that.

    Privacy claim: none; post-processing of an OptinHistogram draw.
    """
    marginals = sum_by_query(head_list, optin.values)[:-1]
    is_kept = np.zeros(head_list.n_queries, dtype=np.bool_)
    # A stable sort breaks ties by the list's own order, so equal inputs give equal lists.
    is_kept[np.argsort(-marginals, kind="stable")[:max_head_size]] = True
    record_is_kept = is_kept[head_list.query_of_record]
    dropped = optin.values[:-1][~record_is_kept].sum()
    values = np.append(optin.values[:-1][record_is_kept], optin.values[-1] + dropped)
    return head_list.keep(is_kept), Estimate(
        values, estimate_variance(values, n_users, noise_variance)
    )
