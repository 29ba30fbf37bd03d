"""What a season is expected to find agrees with what the study measured."""

from hybriddp.params import BlenderParams, Budget
from hybriddp.planning.season import forecast_season
from hybriddp.planning.setting import Setting
from hybriddp.series.design import SeasonDesign
from tasks.budget.policy import Policy
from tasks.plan.budget import Cap
from tasks.plan.prior import from_profile
from tasks.plan.season import plan_season

# 520,000 people, 5 % opted in, (4, 1e-5) a year, two records a week: docs/utility.md.
MEASURED = {1: 29.0, 13: 31.6, 26: 34.6, 52: 39.2}


def test_a_season_is_predicted_as_it_was_measured():
    prior = from_profile("aol-like", 2).prior
    setting = Setting(BlenderParams(4, "1e-5"), 520_000, 1 / 20, distinct_clicks=2.0)
    plan = plan_season(prior, setting, 52, Cap(Policy(), "the default", None))
    found = dict(zip(plan.forecast.weeks, plan.forecast.queries, strict=True))
    assert all(abs(found[week] / queries - 1) < 0.1 for week, queries in MEASURED.items())
    assert plan.fits == 3, "seasons under the default cap"
    assert plan.price.epsilon == 0
    assert "3 such seasons fit" in plan.words[0]


def test_fewer_people_find_less_and_later_weeks_more():
    prior, season = from_profile("aol-like", 2).prior, SeasonDesign().season(Budget(4, "1e-5"))
    few, many = (forecast_season(prior, season, n, 2).queries for n in (6_500, 26_000))
    assert all(less < more for less, more in zip(few, many, strict=True))
    assert list(many) == sorted(many)
