"""What an operator says of a series, in the form of a release."""

import math

from pydantic import Field, model_validator

from hybriddp.params import HIGH_UTILITY, LAPLACE, MAX_RECORDS_OPTIN, MOST_WEEKS
from tasks.products.request import Name, SearchRequest

# Records that people give weight in an epoch, where they have about two (docs/utility.md).
_RECORDS = 5


class SeriesRequest(SearchRequest):
    """One release of a search log, which may be a week of a series that remembers."""

    series: Name | None = Field(
        None,
        description="Name of a series that remembers: everybody who opted in takes part in every "
        "epoch, and epsilon and delta are for a whole season.",
    )
    season_weeks: int = Field(
        52, ge=1, le=MOST_WEEKS, description="Epochs of a season of a series; fixed at its start."
    )

    @classmethod
    def fields_in_order(cls) -> list[str]:
        """Ask for the series right after its epoch: it decides what all else means."""
        first = ["log", "epoch", "series", "season_weeks"]
        return [*first, *(name for name in super().fields_in_order() if name not in first)]

    @model_validator(mode="after")
    def _fits_a_series(self) -> "SeriesRequest":
        if self.series is None:
            return self
        asked = {name: getattr(self, name, None) for name in ("strategy", "finding")}
        if asked["strategy"] not in (None, HIGH_UTILITY) or asked["finding"] == LAPLACE:
            raise ValueError("a series needs strategy high-utility and finding gaussian")
        if self.new_attempt or self.pay_again:
            raise ValueError(
                "an epoch of a series is drawn once: leave out new_attempt and pay_again; what is "
                "lost is missing from the series, and the next epoch goes on"
            )
        if 1 < self.rotation < self.season_weeks:
            raise ValueError(
                "clients report once in a season: rotation must be at least season_weeks, or 1, "
                "which means so many; opt-in people take part every time"
            )
        return self

    @property
    def may_be_tried_again(self) -> bool:
        """Whether people may pay for another attempt after a burnt draw."""
        return self.series is None


def usual_records_in_series(records_per_user: float) -> int:
    """Return how many records people give weight in an epoch, if they have about so many."""
    return min(max(math.ceil(2 * records_per_user), _RECORDS), MAX_RECORDS_OPTIN)
