"""What an operator asks of a plan: one form for the command line and Prefect's page."""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, model_validator

from hybriddp.params import MAX_EPSILON, MOST_WEEKS
from hybriddp.planning.planner import N_REPLICATES
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
    finding: Literal["laplace", "gaussian"] | None = Field(
        None,
        description="Noise of those who find the list; as before, or by records_per_user.",
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
        description="Records of an opt-in person (m); as before, or by records_per_user.",
    )
    records_per_user: float = Field(
        1.0,
        ge=1,
        description="Different records of a person, on average; from 1.5 on noise is Gaussian.",
    )
    rotation: int | None = Field(
        None, ge=1, le=10_000, description="Each person serves every R-th epoch; as before, or 1."
    )
    series: bool = Field(
        False, description="Plan a season of a series that remembers, too, for the same budget."
    )
    season_weeks: int = Field(52, ge=1, le=MOST_WEEKS, description="Releases of a season.")
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
