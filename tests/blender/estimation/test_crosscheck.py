"""The cross-check: quiet while the groups agree, loud when they do not."""

import numpy as np
import pytest
from scipy import stats

from hybriddp.blender.estimation.crosscheck import FALSE_DISCOVERY_RATE, CrossCheck, cross_check
from hybriddp.blender.estimation.estimates import Estimate
from hybriddp.blender.evidence.sources import Fixed
from hybriddp.blender.evidence.subset_reports import SubsetReports
from hybriddp.blender.simulate import SimulatedRelease, simulate
from hybriddp.params import BlenderParams, Budget
from hybriddp.randomizers.subset import SubsetResponse
from tests.stats import ALPHA

N_USERS = 40_000


@pytest.fixture(scope="module")
def law() -> np.ndarray:
    """Forty queries that thin out like a power law, and a rest that is never listed."""
    head = np.arange(1, 41) ** -1.2
    return np.append(0.4 * head / head.sum(), np.full(6_000, 0.6 / 6_000))


def release(law, rng, *, tamper=None, drift=None, strategy="high-utility") -> SimulatedRelease:
    """Simulate a release; `drift` is what a tenth of the opt-in people search instead."""
    queries = rng.choice(len(law), N_USERS, p=law)
    is_optin = np.arange(N_USERS) < N_USERS // 5
    if drift is not None:
        queries[: N_USERS // 50] = drift
    params = BlenderParams(2, "1e-5", strategy=strategy, max_head_size=30, max_records_optin=1)
    return simulate(queries, queries * 0, is_optin, params, rng=rng, tamper=tamper)


def run(law, rng, **planted) -> CrossCheck:
    return release(law, rng, **planted).check


def push(head_list, counts):
    """Every thirtieth client reports the third record, whatever is true."""
    pushed, n_false = counts.copy(), N_USERS // 38
    pushed[head_list.record_cells[2]] += n_false
    pushed[-1] -= n_false
    return pushed


@pytest.mark.statistical
@pytest.mark.parametrize("strategy", ["high-utility", "paper"])
def test_agreeing_groups_are_left_in_peace(law, rng, strategy):
    """Under agreement the p-value is uniform: of 100, the number below 0.1 is binomial.

    False alarm 1e-9. Power: variances that were too small by a third would be seen.
    """
    checks = [run(law, rng, strategy=strategy) for _ in range(100)]
    n_small = sum(check.p_value < 0.1 for check in checks)
    assert stats.binomtest(n_small, 100, 0.1).pvalue > ALPHA
    assert sum(check.is_suspicious.any() for check in checks) < 25
    z = np.concatenate([check.z for check in checks])
    assert abs(z.mean()) < 0.1
    assert 0.9 < z.std() < 1.1


@pytest.mark.statistical
def test_planted_drift_and_false_reports_are_found(law, rng):
    drifted = [run(law, rng, drift=5) for _ in range(5)]
    assert all(check.p_value < 1e-6 and check.is_suspicious[5] for check in drifted)
    pushed = [run(law, rng, tamper=push) for _ in range(5)]
    assert all(check.p_value < 1e-6 and check.is_suspicious[2] for check in pushed)


@pytest.mark.parametrize("strategy", ["high-utility", "paper"])
def test_projection_neither_hides_a_false_record_nor_makes_it_small(law, strategy):
    """The same draws with and without false reports, so every difference is the attack's.

    The check compares what both groups say before the projection. Afterwards the record is still
    too likely. In `paper` the blend no longer sums to 1, and the projection moves every other
    record alike, though nobody lied about them; in `high-utility` only <*,*> moves.
    """
    honest, attacked = (
        release(law, np.random.default_rng(8), tamper=tamper, strategy=strategy)
        for tamper in (None, push)
    )
    cells = honest.head_list.record_cells
    assert attacked.head_list.record_cells.tolist() == cells.tolist()
    before, blended, after = (
        level[cells]
        for level in (
            honest.records.projected,
            attacked.records.blended.values,
            attacked.records.projected,
        )
    )
    assert attacked.check.is_suspicious[2]
    assert not honest.check.is_suspicious[2]
    assert after[2] > before[2] + 0.8 * (blended[2] - before[2]) > 1.2 * before[2]
    change = np.delete(after - before, 2)
    if strategy == "paper":
        is_listed = np.delete((before > 0) & (after > 0), 2)
        assert np.ptp(change[is_listed]) < 1e-9 < 1e-3 < np.abs(change[is_listed]).min()
    else:
        assert np.abs(change).max() < 1e-9
        assert attacked.records.projected[-1] < honest.records.projected[-1]


def test_chi_square_uses_the_whole_covariance(rng):
    probabilities = np.array([0.2, 0.1, 0.01, 0.003])
    reports = SubsetReports(
        probabilities + rng.normal(0, 0.01, 4), 900, SubsetResponse.of_size(Budget(1), 9, 4)
    )
    optin = Estimate(probabilities, np.array([1e-4, 2e-4, 1e-5, 1e-6]))
    check = cross_check(optin, reports, probabilities)
    difference = optin.values - reports.values
    covariance = np.diag(optin.variances) + reports.covariance(probabilities)
    assert check.chi_square == pytest.approx(difference @ np.linalg.solve(covariance, difference))
    assert check.p_value == pytest.approx(stats.chi2.sf(check.chi_square, 4))
    np.testing.assert_allclose(check.z, difference / np.sqrt(np.diag(covariance)))


@pytest.mark.statistical
@pytest.mark.parametrize("n_clients", [20, 60, 300])
def test_honest_groups_with_few_reports_on_a_cell_agree(same_rng, n_clients):
    """Of honest weeks one in a hundred has a p-value below .01.

    The law is an approximation, so its seed is fixed: in 200,000 weeks .004 to .0095 were below,
    and .00039 to .0012 below .001. Taken for normal, 20 reports give .05 and .017: that is seen.
    """
    response = SubsetResponse.of_size(Budget(4), 60, 1)
    head = np.arange(1, 60) ** -1.1
    law = np.append(0.1 * head / head.sum(), 0.9)
    truth, lie = float(response.p_truth), float(response.p_lie)
    counts = same_rng.multinomial(n_clients, lie + law * (truth - lie), size=1_000)
    first = SubsetReports.of(response, counts[0], n_clients).at(np.arange(59))
    trusted = Estimate(law[:-1], first.variance_at(law[:-1]) / 20)
    excess = first.excess_kurtosis_at(law[:-1])
    noise = same_rng.normal(size=(1_000, 59)) * np.sqrt(trusted.variances)

    def share_below_a_hundredth(*given):
        p_values = [
            cross_check(
                Estimate(trusted.values + noise[week], trusted.variances),
                SubsetReports.of(response, counts[week], n_clients).at(np.arange(59)),
                law[:-1],
                *given,
            ).p_value
            for week in range(1_000)
        ]
        return np.mean(np.array(p_values) < 0.01)

    assert share_below_a_hundredth(excess) < 0.015
    if n_clients == 20:
        assert share_below_a_hundredth() > 0.03


def test_suspicious_records_are_those_of_benjamini_and_hochberg(rng):
    z = np.append(rng.normal(size=40), [4.0, -3.6, 3.4, 9.0])
    zeros, ones = np.zeros(len(z)), np.ones(len(z))
    check = cross_check(Estimate(z, ones), Fixed(zeros, zeros), zeros)
    adjusted = stats.false_discovery_control(check.p_values)
    assert check.is_suspicious.tolist() == (adjusted <= FALSE_DISCOVERY_RATE).tolist()
    assert check.is_suspicious[-4:].all()


def test_empty_list_agrees_with_itself():
    nothing = np.zeros(0)
    check = cross_check(Estimate(nothing, nothing), Fixed(nothing, nothing), nothing)
    assert (check.chi_square, check.n_records, check.p_value) == (0.0, 0, 1.0)
