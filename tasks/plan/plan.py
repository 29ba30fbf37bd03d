"""Plan a release: predict it from a public prior, suggest parameters, say what it would cost.

It spends nothing, reads no log and writes no file. Of a home it reads the policy and the runway,
and only if one is given.
"""

from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from hybriddp.errors import InvalidParameter
from hybriddp.exact import exact
from hybriddp.params import STRATEGIES, BlenderParams, usual_finding
from hybriddp.planning import suggestion as suggestions
from hybriddp.planning.planner import Prediction, predict
from hybriddp.planning.prior import Prior
from hybriddp.planning.setting import Setting
from hybriddp.planning.suggestion import CRITERION, Suggestion, suggest
from hybriddp.rounding import rounded_down
from tasks.plan.budget import BudgetPlan, affordable_epsilon, plan_budget, read_cap
from tasks.plan.prior import PriorSource, from_profile, from_published
from tasks.plan.request import PlanRequest
from tasks.plan.season import SeasonPlan, plan_season


@dataclass(frozen=True, slots=True)
class Plan:
    """A prediction of what was asked for and of what is suggested, and what it would cost."""

    source: str
    asked: Prediction
    suggested: Prediction | None
    rotated: Prediction | None  # the suggested one, with the rotation that the cap asks for
    budget: BudgetPlan
    reasons: tuple[str, ...]
    assumptions: tuple[str, ...]
    season: SeasonPlan | None = None

    @property
    def columns(self) -> dict[str, Prediction]:
        """The predictions by what a reader calls them."""
        found = {"as asked": self.asked}
        if self.suggested is not None and self.suggested is not self.asked:
            found["suggested"] = self.suggested
        if self.rotated is not None:
            found[f"rotation {self.rotated.setting.rotation}"] = self.rotated
        return found

    def as_json(self) -> dict[str, Any]:
        """Return the plan for machines."""
        budget = asdict(self.budget) | {"served": self.budget.served}
        return {
            "source": self.source,
            "asked": _as_json(self.asked),
            "suggested": _as_json(self.suggested),
            "rotated": _as_json(self.rotated),
            "budget": budget,
            "reasons": list(self.reasons),
            "assumptions": list(self.assumptions),
            **({} if self.season is None else {"season": asdict(self.season)}),
        }


def make_plan(request: PlanRequest, home: Path | None = None) -> Plan:
    """Predict, suggest, and price; the home, if any, is only asked for its policy and runway."""
    source = read_source(request)
    setting = build_setting(request, source)
    cap = read_cap(home)
    budget = plan_budget(setting.params, setting.rotation, request.every, request.horizon_days, cap)
    asked = _predict(source.prior, setting, request)
    suggestion = _suggest(source.prior, setting, request) if request.suggest else None
    suggested = rotated = None
    if suggestion is not None:
        same = suggestion.setting == setting
        suggested = asked if same else _predict(source.prior, suggestion.setting, request)
        rotated = _rotated(source.prior, suggestion.setting, budget, request)
    reasons = _reasons(suggestion, suggested is asked, rotated, budget)
    assumptions = (*source.assumptions, *_assumptions(request, setting))
    weeks = request.season_weeks
    season = plan_season(source, setting, weeks, cap) if request.series else None
    return Plan(source.words, asked, suggested, rotated, budget, reasons, assumptions, season)


def read_source(request: PlanRequest) -> PriorSource:
    """Return the public prior that was asked for."""
    if request.previous is not None:
        return from_published(request.previous, request.records_per_user)
    return from_profile(request.log_profile or "aol-like", request.records_per_user)


def build_setting(request: PlanRequest, source: PriorSource) -> Setting:
    """Put together what was asked for and what the source brings."""
    usual = source.params
    strategy = request.strategy or usual.strategy
    is_same = strategy == usual.strategy
    others = usual_finding(strategy, request.records_per_user)
    finding = request.finding or (usual.finding if is_same else others[0])
    own = is_same and finding == usual.finding  # another kind has other defaults
    params = BlenderParams(
        usual.budget.epsilon if request.epsilon is None else request.epsilon,
        usual.budget.delta if request.delta is None else request.delta,
        strategy=strategy,
        finding=finding,
        max_head_size=request.max_head_size or usual.max_head_size,
        headlist_user_fraction=request.headlist_user_fraction
        or (usual.headlist_user_fraction if own else None),
        query_budget_fraction=request.query_budget_fraction or usual.query_budget_fraction,
        max_records_optin=request.max_records_optin
        or (usual.max_records_optin if own else others[1] if finding == others[0] else None),
        client_report=usual.client_report if own else None,
    )
    optin = request.optin_fraction
    return Setting(
        params,
        request.users or source.n_users,
        source.optin_fraction if optin is None else exact(optin, "optin_fraction"),
        request.rotation or source.rotation,
        request.records_per_user,
    )


def _predict(prior: Prior, setting: Setting, request: PlanRequest) -> Prediction:
    return predict(prior, setting, seed=request.seed, n_replicates=request.replicates)


def _suggest(prior: Prior, setting: Setting, request: PlanRequest) -> Suggestion:
    strategies = STRATEGIES if request.strategy is None else (request.strategy,)
    n_replicates = min(request.replicates, suggestions.N_REPLICATES)
    return suggest(
        prior, setting, strategies=strategies, seed=request.seed, n_replicates=n_replicates
    )


def _rotated(
    prior: Prior, setting: Setting, budget: BudgetPlan, request: PlanRequest
) -> Prediction | None:
    """Predict the suggested setting with the rotation that the cap asks for, if it is another."""
    rotation = budget.suggested_rotation
    if rotation is None or rotation == setting.rotation:
        return None
    try:
        turned = replace(setting, rotation=rotation)
    except InvalidParameter:  # some group would be empty
        return None
    return _predict(prior, turned, request)


def _reasons(
    suggestion: Suggestion | None,
    is_as_asked: bool,
    rotated: Prediction | None,
    budget: BudgetPlan,
) -> tuple[str, ...]:
    if suggestion is None:
        return ()
    kept = f"Nothing of the {len(suggestion.tried)} settings tried is better than what was asked."
    return (
        *((kept,) if is_as_asked else ()),
        *suggestion.reasons,
        _why_rotation(rotated, budget),
        f"Rule: {CRITERION}.",
    )


def _why_rotation(rotated: Prediction | None, budget: BudgetPlan) -> str:
    rotation, n = budget.suggested_rotation, budget.epochs
    if rotation is None:
        return (
            f"No rotation helps: one release already costs more than the cap {budget.cap}; take "
            f"an epsilon of at most {rounded_down(affordable_epsilon(budget, 1))}."
        )
    turns = f"the cap {budget.cap} pays for {budget.turns} turns of a person"
    if rotation == 1:
        return f"Rotation 1: {turns}, and there are only {n} releases."
    words = (
        f"Rotation {rotation}: {turns}, so {n} releases, one every {budget.every}, need "
        f"{rotation} shifts"
    )
    if rotation == budget.rotation:
        return f"{words}, as asked."
    if rotated is None:
        return f"{words}, but then some group would be empty: take a smaller epsilon."
    return (
        f"{words}. Each release then has {rotated.setting.n_serving:,} people and about "
        f"{rotated['head_queries'].value:.0f} queries; a smaller epsilon or rarer releases need "
        "fewer shifts."
    )


def _assumptions(request: PlanRequest, setting: Setting) -> tuple[str, ...]:
    if setting.distinct_clicks == 1:
        spread = "Everybody has one record."
    elif setting.params.is_weighted:
        spread = f"Everybody has {round(setting.distinct_clicks)} different records."
    else:
        spread = (
            f"Of a person's records two are the same click with probability "
            f"1/{setting.distinct_clicks:g}, so with m = {setting.params.max_records_optin} a "
            f"person's weight on a record has {setting.spread:.0%} of the variance of one record."
        )
    return (
        spread,
        "People search independently of each other and of their group; everybody who is asked "
        "takes part.",
        f"Errors are against one record of each of all {setting.n_users:,} people. ± is the "
        f"standard deviation from release to release, over {request.replicates} rehearsals.",
    )


def _as_json(prediction: Prediction | None) -> dict[str, Any] | None:
    if prediction is None:
        return None
    setting, params = prediction.setting, prediction.setting.params
    return {
        "strategy": params.strategy,
        "finding": params.finding,
        "epsilon": float(params.budget.epsilon),
        "delta": float(params.budget.delta),
        "max_head_size": params.max_head_size,
        "headlist_user_fraction": float(params.headlist_user_fraction),
        "query_budget_fraction": float(params.query_budget_fraction),
        "max_records_optin": params.max_records_optin,
        "client_report": params.client_report,
        "rotation": setting.rotation,
        "people": {"S": setting.n_finders, "T": setting.n_measurers, "C": setting.n_clients},
        "threshold": prediction.threshold,
        "predicted": {name: asdict(value) for name, value in prediction.quantities.items()},
    }
