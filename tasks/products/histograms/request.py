"""What an operator asks of a release of histograms (ZEALOUS)."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from pydantic import Field, model_validator

from hybriddp.device.normalise import NORMALISATION
from hybriddp.exact import exact
from hybriddp.params import MAX_EPSILON, Budget
from hybriddp.zealous.events import INDISTINGUISHABLE
from hybriddp.zealous.item_kinds import ITEM_KINDS, PAIRS
from tasks.products.histograms import ZEALOUS
from tasks.products.histograms.parameters import Kind, Relaxation, ZealousParameters
from tasks.products.request import Form, Name, SearchRequest

# Raise it whenever a mechanism's law or the meaning of a measurement changes.
MECHANISM_VERSION: Final = "zealous-1"


class HistogramSettings(Form):
    """Post-processing settings: they can change without a new charge."""

    valid_days: int = Field(14, ge=1, le=3_650, description="Days until the release expires.")
    max_bytes: int = Field(
        50_000_000, ge=1, le=100_000_000, description="Largest file that readers will load."
    )
    blocklist: Path | None = Field(
        None,
        description="File of queries never to publish, one a line; for good, in every revision.",
    )


class ZealousRequest(SearchRequest, HistogramSettings):
    """One release of histograms of a search log: how many people share each item."""

    product: Name = Field("histograms", description="Product that the histograms belong to.")
    histograms: tuple[Kind, ...] = Field(
        ("keywords", "queries", "pairs", "clicks"),
        min_length=1,
        description="What to publish; all of them share the budget.",
        json_schema_extra={"option": "--histogram"},
    )
    relaxation: Relaxation = Field(
        "probabilistic",
        description="What delta means: no output of all but delta tells more than epsilon, or "
        f"{INDISTINGUISHABLE}: probabilities differ by delta at most.",
    )
    epsilon: float = Field(
        4.0, gt=0, le=MAX_EPSILON, description="Privacy loss of each person, all histograms."
    )
    delta: float = Field(1e-5, gt=0, lt=1, description="Chance that the promise may fail, in all.")
    items_per_user: int = Field(
        1, ge=1, le=1_000, description="m: different items of each person in each histogram."
    )
    session_gap_minutes: int = Field(
        30, ge=1, le=1_440, description="A longer pause between two searches ends a session."
    )

    @model_validator(mode="after")
    def _parameters_fit_together(self) -> "ZealousRequest":
        if len(set(self.histograms)) < len(self.histograms):
            raise ValueError("histograms must name each kind once")
        part = next(iter(self.prices().values()))
        if part.delta == 0:
            raise ValueError(
                "delta must be at least 1e-18 for each histogram; raise it or publish fewer"
            )
        if self.columns.time is None and PAIRS in self.histograms:
            raise ValueError("pairs need times: name the column of times, or leave pairs out")
        return self

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """What is published, in the order of the draws: clicks look at the published queries."""
        return tuple(sorted(set(self.histograms), key=ITEM_KINDS.index))

    @property
    def settings(self) -> HistogramSettings:
        """The settings of post-processing alone."""
        return self.picked(HistogramSettings)

    def prices(self) -> Mapping[str, Budget]:
        """Return what each histogram costs a person."""
        return self.parameters().prices

    def parameters(self) -> ZealousParameters:
        """Return everything that decides what is measured, exactly."""
        return ZealousParameters(
            strategy=ZEALOUS,
            mechanism_version=MECHANISM_VERSION,
            normalisation=NORMALISATION,
            epsilon=exact(self.epsilon, "epsilon"),
            delta=exact(self.delta, "delta"),
            relaxation=self.relaxation,
            histograms=self.kinds,
            items_per_user=self.items_per_user,
            session_gap_minutes=self.session_gap_minutes,
            optin=self.optin_source,
            rotation=self.rotation,
            times=self.times,
        )

    @property
    def optin_source(self) -> str:
        """Who takes part, in words that name no person."""
        return self.named_optin or "everybody in the log"
