"""Laws of denoising, blending and projection that hold for any input."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from hybriddp.blender.estimation import high_utility
from hybriddp.blender.estimation.denoise import denoise
from hybriddp.blender.estimation.estimates import Estimate, blend, project, project_weighted
from hybriddp.errors import InvalidParameter
from hybriddp.params import Budget
from hybriddp.randomizers.stages import TwoStageResponse

pytestmark = pytest.mark.property

sizes = st.lists(st.integers(1, 4), max_size=6).map(lambda head: [*head, 1])
values = st.floats(-2, 2, allow_subnormal=False)
vectors = hnp.arrays(np.float64, st.integers(1, 30), elements=values)
variances = st.one_of(st.just(0.0), st.just(np.inf), st.floats(1e-12, 10))


@given(sizes, st.sampled_from([0.1, 1, 4]), st.sampled_from([0, 1e-5]), st.data())
def test_denoising_inverts_the_expected_reports(sizes, epsilon, delta, data):
    """denoise(E[reports]) = truth: exactly what unbiased means, without any sampling."""
    response = TwoStageResponse.for_budgets(Budget(epsilon, delta), Budget(epsilon, delta), sizes)
    weights = np.array(
        data.draw(st.lists(st.integers(0, 9), min_size=sum(sizes), max_size=sum(sizes)))
    )
    truth = (weights + 1e-3) / (weights + 1e-3).sum()
    law = np.array(
        [
            [float(p) for p in response.pmf(q, u)]
            for q, size in enumerate(sizes)
            for u in range(size)
        ]
    )
    estimate = denoise(response, truth @ law * 1e9)
    assert estimate.cells.values == pytest.approx(truth, abs=1e-9)
    by_query = np.add.reduceat(truth, np.cumsum(sizes) - sizes)
    assert estimate.queries.values == pytest.approx(by_query, abs=1e-9)


@given(sizes, st.integers(1, 50), st.data())
def test_denoised_variances_are_never_negative(sizes, n, data):
    response = TwoStageResponse.for_budgets(Budget(3), Budget(1), sizes)
    cells = data.draw(st.lists(st.integers(0, sum(sizes) - 1), min_size=n, max_size=n))
    estimate = denoise(response, np.bincount(cells, minlength=sum(sizes)))
    for level in (estimate.cells, estimate.queries):
        assert np.isfinite(level.values).all()
        assert (level.variances >= 0).all()
        if n == 1 and len(sizes) > 1:
            assert np.isinf(level.variances).all()


def test_reports_that_all_agree_are_not_certain():
    """Ten reports of one cell, none of the others: 0 and 1 count as one report off."""
    response = TwoStageResponse.for_budgets(Budget(3), Budget(1), [3, 2, 1])
    estimate = denoise(response, np.array([10, 0, 0, 0, 0, 0]))
    assert (estimate.cells.variances > 0).all()
    assert (estimate.queries.variances > 0).all()
    t, a = float(response.query.p_truth), float(response.query.p_lie)
    assert estimate.queries.variances == pytest.approx(0.1 / (9 * (t - a) ** 2))
    # A cell without reports in a query without reports: r_qu = r_q = 1/10 in the variance.
    t_q, l_q = float(response.urls[1].p_truth), float(response.urls[1].p_lie)
    A = a / 2 - t * l_q
    expected = 0.1 / 9 + A**2 * estimate.queries.variances[1] + 2 * A * 0.1 / (9 * (t - a))
    assert estimate.cells.variances[3] == pytest.approx(expected / (t * (t_q - l_q)) ** 2)


@given(values, values, variances, variances)
def test_blend_lies_between_its_sources_and_is_no_worse(p_optin, p_client, v_optin, v_client):
    blended = blend(
        Estimate(np.array([p_optin]), np.array([v_optin])),
        Estimate(np.array([p_client]), np.array([v_client])),
    )
    slack = 1e-12
    assert min(p_optin, p_client) - slack <= blended.values[0] <= max(p_optin, p_client) + slack
    assert 0 <= blended.variances[0] <= min(v_optin, v_client) * (1 + slack)


def test_blend_follows_the_papers_weights_and_limits():
    v_optin = np.array([1.0, 3.0, np.inf, 0.0, np.inf, 0.0, 2.0])
    v_client = np.array([1.0, 1.0, 2.0, 2.0, np.inf, 0.0, 0.0])
    ones, zeros = np.ones(7), np.zeros(7)
    blended = blend(Estimate(ones, v_optin), Estimate(zeros, v_client))
    assert blended.values.tolist() == [0.5, 0.25, 0, 1, 0.5, 0.5, 0]  # the opt-in weights
    assert blended.variances.tolist() == [0.5, 0.75, 2, 0, np.inf, 0, 0]


@pytest.mark.parametrize("bad", [-1e-9, np.nan])
def test_blend_refuses_variances_that_are_none(bad):
    one, sound = Estimate(np.ones(1), np.array([bad])), Estimate(np.ones(1), np.ones(1))
    for groups in ((one, sound), (sound, one)):
        with pytest.raises(InvalidParameter, match="variances must be at least 0"):
            blend(*groups)
    with pytest.raises(InvalidParameter, match="same elements"):
        blend(Estimate(np.ones(2), np.ones(2)), Estimate(np.ones(1), np.ones(1)))


@given(vectors)
def test_projection_is_a_distribution_and_keeps_order(v):
    p = project(v)
    assert p.min() >= 0
    assert p.sum() == pytest.approx(1, abs=1e-12)
    assert (np.diff(p[np.argsort(v, kind="stable")]) >= 0).all()
    assert project(p) == pytest.approx(p, abs=1e-12)


@given(vectors, st.data())
def test_projection_is_the_nearest_point(v, data):
    """Optimality: (v - p) . (x - p) <= 0 for every x of the simplex, its corners suffice."""
    p = project(v)
    residual = v - p
    assert (residual - residual @ p).max() <= 1e-9


@given(vectors, st.floats(-5, 5))
def test_projection_ignores_a_common_shift(v, shift):
    assert project(v + shift) == pytest.approx(project(v), abs=1e-9)


@pytest.mark.parametrize("bad", [[], [[0.5, 0.5]], [np.nan, 1], [np.inf, 0]])
def test_projection_refuses_what_has_no_nearest_point(bad):
    with pytest.raises(InvalidParameter, match="non-empty vector of finite numbers"):
        project(np.array(bad, dtype=float))


weighted = st.integers(1, 30).flatmap(
    lambda n: st.tuples(
        hnp.arrays(np.float64, n, elements=values),
        hnp.arrays(np.float64, n, elements=st.floats(1e-4, 1)),
    )
)


@given(weighted)
def test_weighted_projection_meets_the_conditions_of_its_optimum(both):
    """p >= 0, sum p = 1 and, for one multiplier l, p = v + l s or p = 0 >= v + l s.

    The problem is convex, so these conditions (Karush, Kuhn, Tucker) are sufficient.
    """
    v, s = both
    p = project_weighted(v, s)
    assert p.min() >= 0
    assert p.sum() == pytest.approx(1, abs=1e-9)
    largest = int(np.argmax(p))
    multiplier = (p[largest] - v[largest]) / s[largest]
    moved = v + multiplier * s
    slack = 1e-9 * (1 + np.abs(multiplier))
    assert np.abs(p - moved)[p > slack].max() <= slack
    assert (moved[p <= slack] <= 2 * slack).all()


@given(vectors, st.floats(1e-9, 10))
def test_weighted_projection_with_equal_variances_is_the_projection(v, variance):
    found = project_weighted(v, np.full(len(v), variance))
    assert found == pytest.approx(project(v), abs=1e-9)


@given(weighted)
def test_weighted_projection_leaves_a_distribution_alone(both):
    v, s = both
    p = project(v)
    assert project_weighted(p, s) == pytest.approx(p, abs=1e-9)


@given(weighted, st.floats(1e-3, 1e3))
def test_weighted_projection_ignores_the_unit_of_the_variances(both, factor):
    v, s = both
    assert project_weighted(v, s * factor) == pytest.approx(project_weighted(v, s), abs=1e-8)


def test_poisoned_record_is_paid_by_the_wildcard_and_not_by_every_record():
    """One record too large by d: plainly, each of n others loses d/n; weighted, <*,*> loses it."""
    n, d = 100, 0.05
    truth = np.append(np.full(n, 0.002), 0.8)
    poisoned = truth.copy()
    poisoned[7] += d
    innocent = np.delete(np.arange(n), 7)
    plain = project(poisoned) - poisoned
    assert plain[innocent] == pytest.approx(-d / (n + 1), rel=1e-9)
    assert plain[-1] == pytest.approx(-d / (n + 1), rel=1e-9)
    # As in a release: records of a standard error of 1e-4, <*,*> of 1e-2.
    weighted = project_weighted(poisoned, np.append(np.full(n, 1e-8), 1e-4)) - poisoned
    assert weighted[-1] == pytest.approx(-d, rel=0.02)
    assert np.abs(weighted[innocent]).max() < 1e-4 * d * 1.01
    assert np.abs(weighted[innocent]).max() < np.abs(plain[innocent]).min() / 50


def test_projected_release_with_a_certain_element_is_a_distribution():
    """As where the only record is everybody's: a variance of 0 counts as a tiny one."""
    blended = Estimate(np.array([1, 0.012, -0.012]), np.array([0, 1e-4, 1e-4]))
    assert high_utility.projected_cells(blended).sum() == pytest.approx(1, abs=1e-9)


@pytest.mark.parametrize("bad", [[], [[0.5, 0.5]], [np.nan, 1], [np.inf, 0]])
def test_weighted_projection_refuses_what_has_no_nearest_point(bad):
    array = np.array(bad, dtype=float)
    with pytest.raises(InvalidParameter, match="non-empty vector of finite numbers"):
        project_weighted(array, np.ones_like(array))


@pytest.mark.parametrize("variances", [[1, 0], [1, -1], [1, np.nan], [1], [[1, 1]]])
def test_weighted_projection_refuses_variances_that_are_none(variances):
    with pytest.raises(InvalidParameter, match="variances must be above 0, one for each value"):
        project_weighted(np.array([0.5, 0.5]), np.array(variances, dtype=float))
