"""Events of k-means: prices, refusals, and their form in the ledger."""

import json
import math
from dataclasses import replace
from fractions import Fraction as F

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybriddp.accounting.accountants import Cost, compose_basic, compose_pld
from hybriddp.accounting.event import Neighbours, from_json, to_json
from hybriddp.errors import InvalidParameter
from hybriddp.kmeans.events import ClusterReport, ClusterSums
from hybriddp.kmeans.mechanism import KMeansMechanism
from hybriddp.params import Budget
from hybriddp.randomizers.response import RandomizedResponse


def events(epsilon=4, *, n_clusters=4, n_iterations=5, n_dimensions=2):
    mechanism = KMeansMechanism.for_budget(
        Budget(epsilon), n_clusters=n_clusters, n_iterations=n_iterations, n_dimensions=n_dimensions
    )
    return mechanism.trusted_event, mechanism.client_event


@given(
    st.fractions(min_value="1/100", max_value=50, max_denominator=10**9),
    st.integers(1, 40),
    st.integers(1, 30),
    st.integers(1, 9),
)
def test_any_mechanism_keeps_its_budget_and_comes_back_from_the_ledger(epsilon, k, tau, d):
    sums, report = events(epsilon, n_clusters=k, n_iterations=tau, n_dimensions=d)
    assert sums.iteration_epsilon * tau <= epsilon
    # In floats: the event itself compares in fractions.
    spent = float(report.point_epsilon) + tau * report.response.epsilon
    assert spent <= float(epsilon) * (1 + 1e-9)
    for event in (sums, report):
        text = json.dumps(to_json(event))
        assert from_json(json.loads(text)) == event
        assert event.neighbours is Neighbours.REPLACE_ONE_USER


def test_noise_for_other_numbers_than_those_drawn_with_is_refused():
    for event in events():
        for change in (
            {"grid": event.grid + 1},
            {"n_dimensions": 3},
            {"n_iterations": 6},
            {"noise_scale": event.noise_scale - 1},
            {"budget": Budget("3.999")},
        ):
            with pytest.raises(InvalidParameter, match="cost at most"):
                replace(event, **change)


def test_printed_noise_of_added_or_removed_points_is_refused():
    sums, _ = events()
    with pytest.raises(InvalidParameter, match="8 at scale"):
        replace(sums, noise_scale=sums.noise_scale // 2)


def test_responses_that_lie_less_are_refused():
    _, report = events()
    for n_values in (4, 5):
        bolder = RandomizedResponse.for_budget(Budget("0.7"), n_values)  # than 4/6
        with pytest.raises(InvalidParameter, match="cost at most"):
            replace(report, response=bolder)
    with pytest.raises(InvalidParameter, match="cost at most"):
        # Where all is spent on the point nothing is left for responses.
        ClusterReport(Budget(1), 10, 1, 1, 10, RandomizedResponse.for_budget(Budget("1e-6"), 2))


class Lawless(RandomizedResponse):
    """A response whose price somebody might have changed."""

    @property
    def p_truth(self):
        return self.p_lie


def test_response_without_a_price_is_refused():
    _, report = events()
    with pytest.raises(InvalidParameter, match="randomized response"):
        replace(report, response=Lawless(4, 1))


@pytest.mark.parametrize("wrong", [0, -1, 1.5, True, np.int64(10**9), "3", 1 << 41])
def test_numbers_that_are_none_are_refused(wrong):
    for event in events():
        for name in ("grid", "n_dimensions", "n_iterations", "noise_scale"):
            with pytest.raises(InvalidParameter):
                replace(event, **{name: wrong})


def test_price_is_the_budget_and_no_accountant_says_more():
    for event in events("1/3"):
        assert compose_basic([event] * 3) == Cost(F(1), F(0))
        assert compose_pld([event], 1e-9) <= 1 / 3 + 1e-9


def composed(*laws):
    """Return the laws of independent outcomes under two inputs, from pairs (p, q)."""
    p = q = np.ones(1)
    for law_p, law_q in laws:
        p, q = np.outer(p, law_p).ravel(), np.outer(q, law_q).ravel()
    return p, q


def hockey_stick(laws, epsilon):
    p, q = composed(*laws)
    return float(np.maximum(p - math.exp(epsilon) * q, 0).sum())


def between_two(epsilon):
    """Randomized response between two values: the worst mechanism of its epsilon (KOV15)."""
    p = np.array([math.exp(epsilon), 1]) / (math.exp(epsilon) + 1)
    return p, p[::-1]


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 1.5])
def test_iterations_compose_as_enumerated(epsilon):
    """Two events of three iterations: neither as one lump of its budget nor as a single round."""
    sums, report = events(1, n_iterations=3)
    of_sums = [between_two(float(sums.iteration_epsilon))] * 6
    p, q = float(report.response.p_truth), float(report.response.p_lie)
    named = np.array([p, q, q, q]), np.array([q, p, q, q])
    of_report = [between_two(float(report.point_epsilon)), named, named, named] * 2
    for event, laws in ((sums, of_sums), (report, of_report)):
        delta = hockey_stick(laws, epsilon)
        assert delta > 1e-5
        # Pessimistic, and by less than the grid's step for each outcome.
        assert 0 <= compose_pld([event] * 2, delta) - epsilon + 1e-9 <= 2e-3


def test_iteration_sensitivity_is_that_of_a_point_that_changes_its_cluster():
    sums = ClusterSums(Budget(1), 10, 3, 2, 160)
    assert sums.iteration_epsilon == F(2 * 10 * (3 + 1), 160)
