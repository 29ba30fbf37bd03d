"""Plan a release: predict it from a public prior, suggest parameters, say what it would cost.

It spends nothing, reads no log and writes no file. Of a home it reads the policy and the runway,
and only if one is given.
"""

from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from hybriddp.errors import InvalidParameter
from hybriddp.params import MAX_EPSILON, STRATEGIES, BlenderParams, exact
from hybriddp.planning import suggestion as suggestions
from hybriddp.planning.planner import N_REPLICATES, Prediction, predict
from hybriddp.planning.prior import Prior
from hybriddp.planning.setting import Setting
from hybriddp.planning.suggestion import CRITERION, Suggestion, suggest
from hybriddp.rounding import rounded_down
from tasks.plan.budget import BudgetPlan, affordable_epsilon, plan_budget, read_cap
from tasks.plan.prior import PriorSource, from_profile, from_published
from tasks.products.request import Form, Share


class PlanRequest(Form):
    """What to plan for; what is left out comes from the published list, or is as usual."""

    log_profile: Literal["aol-like", "yandex-like"] | None = Field(
        None, description="Synthetic profile of the log; aol-like if there is no published list."
    )
    previous: Path | None = Field(
        None, description="Go on from a published release: its folder, or its shelf."
    )
    users: int | None = Field(
        None, ge=1, description="People in the log; as many as the profile or the list had."
    )
    optin_fraction: Share | None = Field(
        None, description="Share of people who opt in; that of the list, or 0.05."
    )
    strategy: Literal["high-utility", "paper"] | None = Field(
        None, description="Ours, or BLENDER as published; both are tried for a suggestion."
    )
    epsilon: float | None = Field(
        None,
        gt=0,
        le=MAX_EPSILON,
        description="Privacy loss of each person; that of the list, or 4.",
    )
    delta: float | None = Field(
        None,
        gt=0,
        lt=1,
        description="Chance that the promise may fail; that of the list, or 1e-5.",
    )
    max_head_size: int | None = Field(
        None,
        ge=1,
        le=10_000,
        description="Queries to publish at most (M); as many as the list might have, or 50.",
    )
    headlist_user_fraction: Annotated[float, Field(gt=0, le=1)] | None = Field(
        None, description="Share of opt-in people who find the list (f_O); as before, or 0.95."
    )
    query_budget_fraction: Share | None = Field(
        None,
        description="Two stages: share of a client's budget for the query (f_C); as before, or "
        "0.85.",
    )
    max_records_optin: int | None = Field(
        None,
        ge=1,
        description="Records of an opt-in person (m); as before, or 5, or 1 with paper.",
    )
    records_per_user: float = Field(
        1.0, ge=1, description="Different clicks of a person, on average; 1: one record a person."
    )
    rotation: int | None = Field(
        None, ge=1, le=10_000, description="Each person serves every R-th epoch; as before, or 1."
    )
    every: Literal["day", "week", "month"] = Field("week", description="Cadence of releases.")
    horizon_days: int = Field(365, ge=1, le=36_525, description="How long the cap should last.")
    suggest: bool = Field(True, description="Predict other parameters, too, and suggest some.")
    replicates: int = Field(N_REPLICATES, ge=2, le=1_000, description="Rehearsals of a setting.")
    seed: int = Field(1, ge=0, description="Same seed, same plan; it has no use in a release.")

    @model_validator(mode="after")
    def _one_source(self) -> "PlanRequest":
        if self.log_profile is not None and self.previous is not None:
            raise ValueError("give a log_profile or a previous release, not both")
        return self


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
    return Plan(source.words, asked, suggested, rotated, budget, reasons, assumptions)


def read_source(request: PlanRequest) -> PriorSource:
    """Return the public prior that was asked for."""
    if request.previous is not None:
        return from_published(request.previous, request.records_per_user)
    return from_profile(request.log_profile or "aol-like")


def build_setting(request: PlanRequest, source: PriorSource) -> Setting:
    """Put together what was asked for and what the source brings."""
    usual = source.params
    strategy = request.strategy or usual.strategy
    own = strategy == usual.strategy  # another strategy has other defaults
    params = BlenderParams(
        usual.budget.epsilon if request.epsilon is None else request.epsilon,
        usual.budget.delta if request.delta is None else request.delta,
        strategy=strategy,
        max_head_size=request.max_head_size or usual.max_head_size,
        headlist_user_fraction=request.headlist_user_fraction
        or (usual.headlist_user_fraction if own else None),
        query_budget_fraction=request.query_budget_fraction or usual.query_budget_fraction,
        max_records_optin=request.max_records_optin or (usual.max_records_optin if own else None),
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
    spread = (
        "Everybody has one record."
        if setting.distinct_clicks == 1
        else f"Of a person's records two are the same click with probability "
        f"1/{setting.distinct_clicks:g}, so with m = {setting.params.max_records_optin} a person's "
        f"weight on a record has {setting.spread:.0%} of the variance of one record."
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
