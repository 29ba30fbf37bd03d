"""Invalid parameters raise one error whose message says rule, value and remedy."""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from hybriddp import BlenderParams, Budget, HybridDPError, InvalidParameter
from hybriddp.blender.finding import HeadListMechanism
from hybriddp.blender.mechanisms import finding_mechanism
from hybriddp.params import usual_finding
from hybriddp.randomizers.laws import client_budget, client_response
from hybriddp.randomizers.stages import TwoStageResponse
from hybriddp.randomizers.subset import SubsetResponse


@pytest.mark.parametrize(
    ("arguments", "rule", "value", "remedy"),
    [
        ({"epsilon": 0}, "epsilon must be above 0", "got 0", "0.1 and 10"),
        ({"epsilon": -1}, "epsilon must be above 0", "got -1", "0.1 and 10"),
        ({"epsilon": 51}, "at most 50", "got 51", "0.1 and 10"),
        ({"epsilon": float("nan")}, "finite number", "got nan", "write it like 4"),
        ({"epsilon": float("inf")}, "finite number", "got inf", "write it like 4"),
        ({"epsilon": "four"}, "finite number", "'four'", "write it like 4"),
        ({"epsilon": True}, "finite number", "got True", "write it like 4"),
        ({"epsilon": None}, "finite number", "got None", "write it like 4"),
        ({"delta": 0}, "delta must be above 0 for a head list", "got 0", "1e-5"),
        ({"delta": 1}, "below 1", "got 1", "would promise nothing"),
        ({"delta": -1e-9}, "at least 0", "got -1e-09", "1e-5"),
        ({"query_budget_fraction": 0}, "strictly between 0 and 1", "got 0.0", "paper uses 0.85"),
        ({"query_budget_fraction": 1}, "strictly between 0 and 1", "got 1.0", "paper uses 0.85"),
        ({"headlist_user_fraction": 1}, "strictly between 0 and 1", "got 1.0", "opt-in users both"),
        ({"headlist_user_fraction": 0}, "strictly between 0 and 1", "got 0.0", "opt-in users both"),
        ({"max_head_size": 0}, "whole number of at least 1", "got 0", "positive integer"),
        ({"max_head_size": 2.5}, "whole number of at least 1", "got 2.5", "positive integer"),
        ({"max_records_client": 0}, "whole number of at least 1", "got 0", "positive integer"),
        ({"max_records_optin": 2}, "must be 1 in strategy `paper`", "got 2", "theorem 3.1"),
        ({"max_records_optin": 0}, "whole number of at least 1", "got 0", "positive integer"),
        ({"strategy": "greedy"}, "strategy must be one of paper, high", "'greedy'", "one of these"),
        ({"client_report": "one-stage"}, "must be two-stage in", "one-stage", "and then a url"),
        ({"client_report": "two-stage-exact"}, "must be two-stage in", "exact", "and then a url"),
    ],
)
def test_invalid_parameters_say_rule_value_and_remedy(arguments, rule, value, remedy):
    with pytest.raises(InvalidParameter) as caught:
        BlenderParams(**arguments)
    message = str(caught.value)
    assert rule in message
    assert value in message
    assert remedy in message
    assert isinstance(caught.value, HybridDPError)
    assert isinstance(caught.value, ValueError)


@pytest.mark.parametrize(
    ("arguments", "rule", "value", "remedy"),
    [
        ({"headlist_user_fraction": 0}, "above 0 and at most 1", "got 0.0", "must find the list"),
        ({"headlist_user_fraction": "1.01"}, "at most 1", "got 1.01", "must find the list"),
        ({"headlist_user_fraction": -1}, "above 0 and at most 1", "got -1.0", "must find the list"),
        ({"max_records_optin": 101}, "at most 100", "got 101", "5 is a good choice"),
        ({"max_records_optin": 0}, "whole number of at least 1", "got 0", "positive integer"),
        ({"max_records_optin": 2.0}, "whole number of at least 1", "got 2.0", "positive integer"),
        ({"max_records_client": 2}, "must be 1 in strategy `high", "got 2", "the whole budget"),
        ({"client_report": "three-stage"}, "one of two-stage", "'three-stage'", "one of these"),
        ({"query_budget_fraction": 1}, "strictly between 0 and 1", "got 1.0", "noise only"),
        ({"delta": 0}, "delta must be above 0 for a head list", "got 0", "1e-5"),
        ({"finding": "normal"}, "one of laplace, gaussian", "'normal'", "one of these"),
        (
            {"finding": "gaussian", "headlist_user_fraction": "0.95"},
            "must be 1 with Gaussian",
            "got 0.95",
            "leave it out",
        ),
    ],
)
def test_invalid_parameters_of_high_utility_say_rule_value_and_remedy(
    arguments, rule, value, remedy
):
    with pytest.raises(InvalidParameter) as caught:
        BlenderParams(strategy="high-utility", **arguments)
    message = str(caught.value)
    assert rule in message
    assert value in message
    assert remedy in message


def test_the_paper_finds_with_laplace_noise():
    with pytest.raises(InvalidParameter, match="finding must be laplace in strategy `paper`"):
        BlenderParams(strategy="paper", finding="gaussian")


@pytest.mark.parametrize(
    ("strategy", "records", "usual"),
    [
        ("high-utility", 1, ("laplace", 1)),
        ("high-utility", 1.49, ("laplace", 1)),
        ("high-utility", 1.5, ("gaussian", 3)),
        ("high-utility", 6.3, ("gaussian", 13)),
        ("high-utility", 900, ("gaussian", 100)),
        ("paper", 20, ("laplace", 1)),
    ],
)
def test_noise_and_records_follow_from_what_is_stated(strategy, records, usual):
    assert usual_finding(strategy, records) == usual
    finding, m = usual
    BlenderParams(strategy=strategy, finding=finding, max_records_optin=m)


@pytest.mark.parametrize("epsilon", ["0.1", "0.5", "1", "1.5", "2", "4", "8"])
@pytest.mark.parametrize("delta", ["1e-9", "1e-7", "1e-5", "1e-3"])
def test_where_people_have_one_record_no_list_is_shorter_than_the_papers(epsilon, delta):
    """The same noise and the same people, and a threshold that is never higher."""
    finding, m = usual_finding("high-utility", 1)
    ours, paper = (
        finding_mechanism(BlenderParams(epsilon, delta, **kind))
        for kind in ({"strategy": "high-utility", "finding": finding, "max_records_optin": m}, {})
    )
    assert ours.noise == paper.noise
    assert ours.threshold <= paper.threshold
    counts = np.arange(1, 2 * paper.threshold)
    assert (ours.release_probability(counts) >= paper.release_probability(counts)).all()


def test_defaults_of_high_utility_use_more_of_the_same_people():
    params, paper = BlenderParams(strategy="high-utility"), BlenderParams()
    assert params.budget == paper.budget
    assert (paper.strategy, paper.max_records_optin, paper.client_report) == (
        "paper", 1, "two-stage",
    )  # fmt: skip
    assert (params.max_records_optin, params.client_report) == (1, "one-stage")
    assert params.headlist_user_fraction == Fraction(95, 100)
    weighted = BlenderParams(strategy="high-utility", finding="gaussian")
    assert (weighted.headlist_user_fraction, weighted.has_histogram) == (1, False)
    asked = BlenderParams(strategy="high-utility", max_records_optin=1, client_report="two-stage")
    assert (asked.max_records_optin, asked.client_report) == (1, "two-stage")


@pytest.mark.parametrize(("fraction", "has_histogram"), [("0.95", True), (1, False)])
def test_everybody_may_find_the_list_and_then_nobody_measures_it(fraction, has_histogram):
    params = BlenderParams(strategy="high-utility", headlist_user_fraction=fraction)
    assert params.has_histogram is has_histogram


@pytest.mark.parametrize("client_report", ["one-stage", "two-stage", "two-stage-exact"])
def test_clients_pay_a_delta_only_where_their_report_uses_one(client_report):
    params = BlenderParams(4, "1e-5", strategy="high-utility", client_report=client_report)
    delta = Fraction(1, 100_000) if client_report == "two-stage" else 0
    assert client_budget(params) == Budget(4, delta)
    response = client_response(params, [3, 2, 1])
    expected = {
        "one-stage": SubsetResponse.for_budget(Budget(4), 6),
        "two-stage": TwoStageResponse.for_budgets(
            Budget("3.4", "8.5e-6"), Budget("0.6", "1.5e-6"), [3, 2, 1]
        ),
        "two-stage-exact": TwoStageResponse.for_exact_loss(Budget(4), Fraction(85, 100), [3, 2, 1]),
    }
    assert response == expected[client_report]


def test_defaults_are_the_papers_for_aol():
    params = BlenderParams()
    assert (params.budget, params.max_head_size) == (Budget(4, "1e-5"), 50)
    assert params.headlist_user_fraction == Fraction(95, 100)
    assert params.query_budget_fraction == Fraction(85, 100)


@pytest.mark.parametrize("tenth", [0.1, "0.1", "1/10", Decimal("0.1"), Fraction(1, 10)])
def test_numbers_mean_what_was_written(tenth):
    assert Budget(tenth).epsilon == Fraction(1, 10)


def test_client_budgets_add_up_to_the_whole_for_all_reports():
    params = BlenderParams("0.7", "1e-5", query_budget_fraction="1/3", max_records_client=3)
    query, url = params.client_query_budget, params.client_url_budget
    assert 3 * (query.epsilon + url.epsilon) == Fraction(7, 10)
    assert 3 * (query.delta + url.delta) == Fraction(1, 100_000)
    assert query.epsilon == Fraction(7, 90)


def test_small_epsilon_is_accepted_with_a_note():
    assert BlenderParams(1).notes == ()
    (note,) = BlenderParams("0.69").notes
    assert "ln 2" in note


def test_pure_budget_exists_but_finds_no_head_list():
    assert Budget(1).delta == 0
    with pytest.raises(InvalidParameter, match="delta must be above 0 for a head list"):
        HeadListMechanism.for_budget(Budget(1))


def test_parameters_cannot_be_changed_afterwards():
    with pytest.raises(AttributeError):
        Budget(1).epsilon = Fraction(2)
    with pytest.raises(AttributeError):
        BlenderParams().max_head_size = 7
