"""Laws of denoising, blending and projection that hold for any input."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from hybriddp.blend import blend
from hybriddp.denoise import denoise
from hybriddp.errors import InvalidParameter
from hybriddp.estimate import Estimate
from hybriddp.params import Budget
from hybriddp.response import TwoStageResponse
from hybriddp.simplex import project

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
