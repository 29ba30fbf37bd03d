"""What an operator asks of a head list: one validated form for command line and Prefect's page."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from hybriddp.accounting.price import Price
from hybriddp.device.normalise import NORMALISATION
from hybriddp.exact import exact
from hybriddp.params import (
    GAUSSIAN,
    HIGH_UTILITY,
    MAX_EPSILON,
    MAX_RECORDS_OPTIN,
    PAPER,
    BlenderParams,
    Budget,
    usual_finding,
)
from tasks.products.head_list import CLIENTS
from tasks.products.head_list.parameters import (
    ClientReport,
    Clients,
    HeadListParameters,
    MechanismVersion,
    params_asked,
    prices_of,
)
from tasks.products.head_list.series.form import SeriesRequest, usual_records_in_series
from tasks.products.request import Form, Share

# Raise one whenever a mechanism's law or the meaning of a measurement changes: releases made by
# different versions must not share an id.
MECHANISM_VERSIONS: dict[str, MechanismVersion] = {
    PAPER: "blender-paper-1",
    HIGH_UTILITY: "blender-high-utility-1",
    GAUSSIAN: "blender-weighted-1",
}

EVERYBODY = "everybody in the log"
_OPTIN_FRACTION = 0.05
# Records of an opt-in person, where nothing else was said, until version 0.2.0.
_RECORDS_BEFORE = 5


class PublishSettings(Form):
    """Post-processing settings: they can change without a new charge."""

    decimals: int = Field(6, ge=2, le=12, description="Decimals of published numbers.")
    valid_days: int = Field(14, ge=1, le=3_650, description="Days until the release expires.")
    max_bytes: int = Field(
        5_000_000, ge=1, le=100_000_000, description="Largest file that readers will load."
    )
    blocklist: Path | None = Field(
        None,
        description="File of queries never to publish, one a line; for good, in every revision.",
    )
    min_agreement: float = Field(
        1e-6,
        ge=0,
        le=1,
        description="Withhold if opt-in people and clients agree less (p-value); 0 never does.",
    )


class ReleaseRequest(SeriesRequest, PublishSettings):
    """One release of the head list of a search log."""

    strategy: Literal["high-utility", "paper"] = Field(
        "high-utility",
        description="Ours, more exact at the same privacy; or BLENDER as published (JPC19).",
    )
    epsilon: float = Field(4.0, gt=0, le=MAX_EPSILON, description="Privacy loss of each person.")
    delta: float = Field(1e-5, gt=0, lt=1, description="Chance that the promise may fail.")
    max_head_size: int = Field(50, ge=1, le=10_000, description="Queries to publish at most.")
    records_per_user: float = Field(
        1.0,
        ge=1,
        le=1_000,
        description="Different records of a person in an epoch, as you know them without the log; "
        "decides the noise.",
    )
    finding: Literal["laplace", "gaussian"] | None = Field(
        None,
        description="Noise of those who find the list; gaussian if people have several records.",
    )
    headlist_user_fraction: Annotated[float, Field(gt=0, le=1)] | None = Field(
        None,
        description="Share of the opt-in people who find the list, the others measure it; 0.95. "
        "With gaussian everybody does both.",
    )
    max_records_optin: Annotated[int, Field(ge=1, le=MAX_RECORDS_OPTIN)] | None = Field(
        None,
        description="Records of an opt-in person, weighed as one; 1, or with gaussian twice what "
        "a person has.",
    )
    client_report: ClientReport | None = Field(
        None, description="How clients report; one-stage, or two-stage with paper."
    )
    query_budget_fraction: Share = Field(
        0.85, description="Two stages: share of a client's budget spent on the query."
    )
    max_records_client: int = Field(1, ge=1, le=100, description="Reports of each client.")
    optin_fraction: Share | None = Field(
        None, description="Share opted in by keyed hash if no roster or column says who; 0.05."
    )
    everybody_opted_in: bool = Field(
        False, description="With devices: everybody in the log opted in, and nobody else is in it."
    )
    clients: Clients = Field(
        "simulate", description="Simulate clients from the log, or take reports of real devices."
    )
    reports: Path | None = Field(None, description="Reports that devices sent: file or folder.")

    max_bad_report_share: float = Field(
        0.05, ge=0, le=1, description="More bad reports stop a release."
    )

    @model_validator(mode="after")
    def _parameters_fit_together(self) -> "ReleaseRequest":
        params = self.params()  # refuses what the mechanisms cannot keep
        if self.series is None and params.is_weighted:
            # Not every budget has such noise; and scipy takes long to import.
            from hybriddp.blender.mechanisms import weighted_mechanism

            weighted_mechanism(params)
        if self.reports is not None and self.clients != "reports":
            raise ValueError("reports are given, so clients must be 'reports'")
        self._opted_in_people_are_named_once()
        return self

    def _opted_in_people_are_named_once(self) -> None:
        has_devices = self.clients == "reports"
        if has_devices and self.optin_fraction is not None:
            raise ValueError(
                "optin_fraction picks opt-in people by a hash that their devices do not know; with "
                "clients 'reports' leave it out, and name them by a roster or a column"
            )
        is_named = self.roster is not None or self.columns.optin is not None
        if self.everybody_opted_in and (is_named or not has_devices):
            raise ValueError(
                "everybody_opted_in is for clients 'reports' without a roster or a column of "
                "opt-in people; leave it out"
            )

    @property
    def settings(self) -> PublishSettings:
        """The settings of post-processing alone."""
        return self.picked(PublishSettings)

    @property
    def as_before(self) -> "ReleaseRequest | None":
        """The same words as versions up to 0.2.0 read them, if these read anything else."""
        is_open = self.finding is None and self.max_records_optin is None and self.series is None
        if self.strategy != HIGH_UTILITY or not is_open or self.records_per_user != 1:
            return None
        return self.model_copy(update={"max_records_optin": _RECORDS_BEFORE})

    def params(self) -> BlenderParams:
        """Return the exact parameters of the mechanisms; what is left open follows from people.

        Nothing of it follows from the log.
        """
        finding, records = usual_finding(self.strategy, self.records_per_user)
        if self.series is not None:
            finding, records = GAUSSIAN, usual_records_in_series(self.records_per_user)
        is_usual = self.finding in (None, finding)
        open_ones = {
            "finding": self.finding or finding,
            "max_records_optin": self.max_records_optin or (records if is_usual else None),
        }
        return params_asked(self.model_copy(update=open_ones))

    def parameters(self) -> HeadListParameters:
        """Return everything that decides what is measured, exactly."""
        params = self.params()
        law = GAUSSIAN if params.is_weighted else params.strategy
        # Strategy `paper` leaves no choice there, and its releases keep the ids that they had.
        choices: dict[str, Any] = {
            "max_records_optin": params.max_records_optin,
            "client_report": params.client_report,
        }
        if params.is_weighted:
            choices["finding"] = GAUSSIAN
        return HeadListParameters(
            **(choices if params.strategy == HIGH_UTILITY else {}),
            strategy=self.strategy,
            mechanism_version=MECHANISM_VERSIONS[law],
            normalisation=NORMALISATION,
            epsilon=params.budget.epsilon,
            delta=params.budget.delta,
            max_head_size=params.max_head_size,
            headlist_user_fraction=params.headlist_user_fraction,
            query_budget_fraction=params.query_budget_fraction,
            max_records_client=params.max_records_client,
            optin=self.optin_source,
            rotation=self.rotation,
            times=self.times,
            clients=self.clients,
        )

    def prices(self) -> Mapping[str, Budget | Price]:
        """Return what a member of each group pays; a person is in one group only."""
        return prices_of(self.params())

    @property
    def groups_in_the_log(self) -> tuple[str, ...]:
        """All, but for clients whose devices report: they keep their own accounts."""
        is_simulated = self.clients == "simulate"
        return tuple(group for group in self.prices() if group != CLIENTS or is_simulated)

    @property
    def optin_source(self) -> str:
        """Who counts as opted in, in words that name no person."""
        if self.named_optin is not None:
            return self.named_optin
        if self.clients == "reports":
            return EVERYBODY
        fraction = _OPTIN_FRACTION if self.optin_fraction is None else self.optin_fraction
        return f"hash {exact(fraction, 'optin_fraction')}"

    @property
    def names_opted_in_people(self) -> bool:
        """Whether somebody said who opted in; without devices a hash may pick them."""
        return self.optin_source != EVERYBODY or self.everybody_opted_in
