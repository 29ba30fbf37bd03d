"""Invalid parameters raise one error whose message says rule, value and remedy."""

from decimal import Decimal
from fractions import Fraction

import pytest

from hybriddp import BlenderParams, Budget, HybridDPError, InvalidParameter
from hybriddp.headlist import HeadListMechanism


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
