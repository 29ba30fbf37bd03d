"""Who counts in a mean, with which number, and what they pay."""

import math
from fractions import Fraction

import pytest
from pydantic import ValidationError

import tasks.products.numbers.log
from hybriddp.errors import InvalidParameter
from tasks.budget.policy import Policy, set_policy
from tasks.ledger.charges import EPSILON_UNITS
from tasks.ledger.ledger import Ledger
from tasks.log.raw.files import BadInput
from tasks.products.mean import NUMBERS, SQUARES, SUMS
from tasks.products.mean.draws import identify
from tasks.products.mean.request import MeanRequest
from tasks.products.numbers.log import ingest
from tasks.release.refusals import BudgetRefused
from tests.mean.support import (
    everybodys_values,
    request_for,
    reserve_mean,
    usual_people,
    usual_rows,
    write_numbers,
    write_roster,
)
from tests.release.support import spent_by_account


def differing(before: dict, after: dict) -> list[tuple]:
    """Return the numbers that changed; everybody must be in their place."""
    assert {group: len(found) for group, found in before.items()} == {
        group: len(found) for group, found in after.items()
    }
    return [
        (old, new)
        for group in before
        for old, new in zip(before[group], after[group], strict=True)
        if old != new
    ]


# `tests/sql/numbers` has all four; these two are where one person's rows meet.
@pytest.mark.parametrize(
    "per_person",
    ["sum", "mean", *(pytest.param(n, marks=pytest.mark.long) for n in ("max", "count"))],
)
def test_replacing_a_persons_rows_changes_their_number_alone(home, root, roster, per_person):
    """Whatever they are replaced by: the sensitivity that all noise is made for.

    Thirds are no floats, so that sums in another order would differ in their last digit.
    """
    thirds = [(person, str(int(person) / 3000)) for person, _ in usual_rows()[:-2]]
    settings = {
        "roster": roster, "by": "country", "per_person": per_person, "epsilon": 1,
    }  # fmt: skip
    log = write_numbers(root / "log.csv", thirds)
    before = everybodys_values(reserve_mean(request_for(log, **settings), home))
    n_changed = 0
    for number, rows in enumerate(
        ([], ["1e300"] * 50, ["-1e300", "7"], ["", "nan", "inf", "x"], ["5"] * 3000)
    ):
        # In front of everybody, where they move all the others' rows.
        others = [row for row in thirds if row[0] != "5"]
        write_numbers(log, [("5", value) for value in rows] + others)
        request = request_for(log, product=f"p{number}", **settings)
        after = everybodys_values(reserve_mean(request, home))
        changed = differing(before, after)
        assert len(changed) <= 1
        for (old_key, _), (new_key, new) in changed:
            n_changed += 1
            assert old_key == new_key
            assert math.isfinite(new)
    assert n_changed >= 4  # two rows of one kind count as much as two of another


def test_members_without_rows_count_as_zero_and_strangers_do_not_count(home, root, log):
    people = {"0": (1, "DE"), "1": (1, "DE"), "3": (0, "DE"), "absent": (0, "DE"), "x": (0, "")}
    roster = write_roster(root / "roster.csv", people)
    run = reserve_mean(request_for(log, roster=roster, min_group_size=1), home)
    found = everybodys_values(run)
    assert sorted(value for _, value in found[SUMS]) == pytest.approx([2, 6])
    assert sorted(value for _, value in found[NUMBERS]) == pytest.approx([0, 0, 6])


def test_a_column_of_the_log_may_say_who_opted_in(home, root):
    """Whoever says so in every row that says something."""
    said = {"a": "1", "b": "0", "c": "yes", "d": "", "e": "1"}
    rows = [f"{person},{person},{optin}" for person, optin in said.items()]
    (root / "log.csv").write_text("\n".join(["user,dwell,optin", *rows, "e,x,0"]) + "\n")
    columns = {"person": "user", "optin": "optin", "time": None}
    request = request_for(root / "log.csv", per_person="count", columns=columns)
    run = reserve_mean(request, home)
    assert (run.group_size(SUMS), run.group_size(NUMBERS)) == (2, 3)


def test_opt_in_people_pay_epsilon_for_sums_and_squares_together(home, log, roster):
    """A share that is no whole number of the ledger's units loses nothing and adds nothing."""
    request = request_for(log, roster=roster, epsilon=0.7, variance_share=1 / 3)
    run = reserve_mean(request, home)
    groups = run.reservation.groups
    assert groups[SUMS].members == groups[SQUARES].members == 180
    assert groups[NUMBERS].members == 720
    assert groups[SUMS].epsilon_nano + groups[SQUARES].epsilon_nano == 700_000_000
    assert groups[SQUARES].epsilon_nano == 700_000_000 // 3
    assert groups[NUMBERS].epsilon_nano == 700_000_000
    assert set(spent_by_account(home).values()) == {(700_000_000, 0)}


def test_refusal_names_what_both_groups_of_opt_in_people_cost(home, log):
    reserve_mean(request_for(log), home)
    set_policy(Ledger(home.ledger), Policy.of(7, 0, None))
    with pytest.raises(BudgetRefused, match=r"asked \(epsilon 4, delta 0\); remaining \(epsilon 3"):
        reserve_mean(request_for(log, product="second"), home)
    assert set(spent_by_account(home).values()) == {(4 * EPSILON_UNITS, 0)}


def test_keys_of_few_people_have_no_mean_and_pay_nothing(home, root, log):
    people = usual_people() | {"0": (1, "ZZ"), "3": (0, "ZZ"), "6": (0, "YY"), "9": (0, "")}
    roster = write_roster(root / "roster.csv", people)
    run = reserve_mean(request_for(log, roster=roster, by="country", min_group_size=3), home)
    assert sum(run.reservation.groups[g].members for g in (SUMS, NUMBERS)) == 900 - 4
    assert len(spent_by_account(home)) == 900 - 4


def test_too_many_keys_are_refused_before_anybody_pays_and_again(home, root, log, monkeypatch):
    roster = write_roster(root / "roster.csv", usual_people())
    monkeypatch.setattr(tasks.products.numbers.log, "MAX_KEYS", 2)
    for _ in range(2):
        with pytest.raises(BadInput, match="more than 2 different values"):
            reserve_mean(request_for(log, roster=roster, by="country"), home)
    assert spent_by_account(home) == {}
    monkeypatch.setattr(tasks.products.numbers.log, "MAX_KEYS", 3)
    reserve_mean(request_for(log, roster=roster, by="country"), home)


def test_a_log_that_changes_while_it_is_read_is_refused(home, root):
    log = write_numbers(root / "log.csv", usual_rows())
    run = identify(request_for(log), home)
    write_numbers(log, usual_rows()[2:])
    with pytest.raises(BadInput, match="changed while it was read"):
        ingest(run)


def test_only_gaussian_noise_costs_a_delta(log):
    """Each group by its own noise."""
    mixed = request_for(log, noise="gaussian", report="laplace", delta=1e-6).prices()
    assert (mixed[SUMS].delta, mixed[NUMBERS].delta) == (Fraction(1, 10**6), 0)
    mixed = request_for(log, report="gaussian", delta=1e-6).prices()
    assert (mixed[SUMS].delta, mixed[NUMBERS].delta) == (0, Fraction(1, 10**6))


def test_noise_that_cannot_be_drawn_is_refused_before_anybody_pays(log, home):
    with pytest.raises(InvalidParameter, match="scale"):
        identify(request_for(log, one_number=True, epsilon=0.001, delta=1e-9), home)


def test_whatever_decides_a_measurement_is_in_the_releases_name(log):
    usual = request_for(log).measurement_parameters()
    for settings in (
        {"column": "other"}, {"per_person": "max"}, {"upper": 9.0}, {"epsilon": 3.9},
        {"report": "bit"}, {"weight": "privacy"}, {"variance_share": 0.1}, {"rotation": 2},
        {"optin_fraction": 0.31}, {"min_group_size": 3}, {"noise": "gaussian"},
        {"one_number": True},
    ):  # fmt: skip
        assert request_for(log, **settings).measurement_parameters() != usual, settings
    known = [
        request_for(log, weight="known-variance", known_sd=sd).measurement_parameters()
        for sd in (1.0, 2.0)
    ]
    assert known[0] != known[1]


def test_a_form_that_ticks_one_number_alone_gets_the_noise_that_it_needs(log):
    shown = {
        name: field["default"]
        for name, field in MeanRequest.model_json_schema()["properties"].items()
        if field.get("default") is not None and name not in ("product", "columns")
    }
    ticked = request_for(log, **{**shown, "one_number": True, "report": None})
    assert (ticked.noise, ticked.report, ticked.weight) == ("gaussian", "gaussian", "privacy")


@pytest.mark.parametrize(
    ("settings", "fault"),
    [
        ({"by": "country"}, "give a roster"),
        ({"upper": 0}, "greater than or equal"),
        ({"delta": 1e-5}, "0 without Gaussian"),
        ({"noise": "gaussian", "delta": 0}, "above 0 for Gaussian"),
        ({"weight": "known-variance"}, "known_sd"),
        ({"known_sd": 1.0}, "known_sd"),
        ({"weight": "naive", "variance_share": 0.1}, "must be 0 unless"),
        ({"one_number": True, "noise": "laplace"}, "noise gaussian and report gaussian"),
        ({"one_number": True, "weight": "estimated-variance"}, "does not depend on the log"),
        ({"variance_share": 1e-30}, "smallest loss that the ledger books"),
        ({"weight": "known-variance", "known_sd": 5.1, "upper": 10.0}, "half of upper"),
        ({"epsilom": 1}, "Extra inputs"),
    ],
)
def test_settings_that_do_not_fit_are_refused_in_words(log, settings, fault):
    with pytest.raises(ValidationError, match=fault):
        request_for(log, **settings)
