"""What a season is expected to find agrees with what the study measured."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from hybriddp.params import BlenderParams, Budget
from hybriddp.planning.calibration import prior_of_release
from hybriddp.planning.season import forecast_season, found_by
from hybriddp.planning.setting import Setting
from hybriddp.series.design import SeasonDesign
from tasks.budget.policy import Policy
from tasks.plan.budget import Cap
from tasks.plan.prior import from_profile
from tasks.plan.season import plan_season

# 520,000 people, 5 % opted in, (4, 1e-5) a year, two records a week: docs/utility.md.
MEASURED = {1: 29.0, 13: 31.6, 26: 34.6, 52: 39.2}


def test_a_season_is_predicted_as_it_was_measured():
    source = from_profile("aol-like", 2)
    setting = Setting(BlenderParams(4, "1e-5"), 520_000, 1 / 20, distinct_clicks=2.0)
    plan = plan_season(source, setting, 52, Cap(Policy(), "the default", None))
    found = dict(zip(plan.forecast.weeks, plan.forecast.queries, strict=True))
    assert all(abs(found[week] / queries - 1) < 0.1 for week, queries in MEASURED.items())
    assert plan.fits == 3, "seasons under the default cap"
    assert plan.price.epsilon == 0
    assert "3 such seasons fit" in plan.words[0]


def test_a_season_after_another_begins_with_its_names():
    """What is published is known in week 1, whatever it spends there, and it costs the same."""
    fresh = from_profile("aol-like", 2)
    setting = Setting(BlenderParams(4, "1e-5"), 520_000, 1 / 20, distinct_clicks=2.0)
    cap = Cap(Policy(), "the default", None)
    first, single, second = (
        plan_season(replace(fresh, n_known=n, is_of_a_season=after), setting, 52, cap)
        for n, after in ((0, False), (39, False), (39, True))
    )
    assert 39 <= second.forecast.queries[0] <= single.forecast.queries[0] < 45
    assert second.forecast.queries[-1] > first.forecast.queries[-1] + 2
    assert first.price.rho == pytest.approx(second.price.rho, rel=1e-3)


def test_a_list_of_a_season_is_explained_by_its_weeks():
    """A tail that a single release of the same budget would need is far too steep for it."""
    source, season = from_profile("aol-like", 2), SeasonDesign().season(Budget(4, "1e-5"))
    queries = np.bincount(source.prior.query_ids, source.prior.probabilities)
    firsts = source.prior.probabilities[np.unique(source.prior.query_ids, return_index=True)[1]]
    setting = Setting(source.params, 520_000, Fraction(1, 20), distinct_clicks=2.0)
    n_listed = round(found_by(source.prior, season, 52, 26_000, 2))
    assert 36 < n_listed < 43
    slopes = [
        prior_of_release("x", queries[:n_listed].tolist(),
                         (firsts / queries)[:n_listed, None].tolist(),
                         setting=setting, n_listed=n_listed, count=count)[1]
        for count in (lambda prior: found_by(prior, season, 52, 26_000, 2), None)
    ]  # fmt: skip
    assert slopes[0] < 1.3 < slopes[1], slopes


def test_fewer_people_find_less_and_later_weeks_more():
    prior, season = from_profile("aol-like", 2).prior, SeasonDesign().season(Budget(4, "1e-5"))
    few, many = (forecast_season(prior, season, n, 2).queries for n in (6_500, 26_000))
    assert all(less < more for less, more in zip(few, many, strict=True))
    assert list(many) == sorted(many)
