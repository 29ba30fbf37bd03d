"""Would a head list hold anything? From public facts, before anybody pays."""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from hybriddp.blender.mechanisms import finding_mechanism
from hybriddp.planning.forecast import expected_named
from tasks.gates.forecast import PROFILE, Forecast, profile_law, published_law
from tasks.products.head_list import HEADLIST
from tasks.products.head_list.request import ReleaseRequest

if TYPE_CHECKING:
    from hybriddp.blender.weighted.mechanism import WeightedFinding


def forecast_of(request: ReleaseRequest, sizes: Mapping[str, int], before: Path | None) -> Forecast:
    """Predict from how many people would find the list."""
    n_people = sizes.get(HEADLIST, 0)
    params = request.params()
    mechanism = finding_mechanism(params) if request.series is None else _week_finding(request)
    law, prior = published_law(before, "head_list"), "the list that is published now"
    if law is None:
        law, prior = profile_law(), f"the synthetic profile {PROFILE}"
    n_each, units = mechanism.given(request.records_per_user)
    n_records = expected_named(mechanism, n_people * n_each, law, units)
    if request.series is not None and before is not None:
        n_records = max(n_records, len(law))  # what is published now is known, and measured
    return Forecast(n_records, n_people, mechanism.people_needed, prior)


def _week_finding(request: ReleaseRequest) -> "WeightedFinding":
    """Return what the week's test of everything so far would be, if it were a single draw."""
    # What seasons draw with takes long to import, and most releases are none.
    from hybriddp.blender.weighted.events import WeightedListDraw
    from hybriddp.blender.weighted.mechanism import WeightedListMechanism
    from tasks.products.head_list.series.season.place import budget_of, season_of

    place = getattr(request, "place")  # noqa: B009 - weeks of a series have one
    season = season_of(place)
    tested = [window for window in season.tracks[0].windows if window.last >= place.week]
    window = tested[0]
    total = sum(window.coefficients)
    scales = season.weight_scales[: window.last]
    sd = math.hypot(*(c * s for c, s in zip(window.coefficients, scales, strict=True)))
    event = WeightedListDraw(
        budget_of(place),
        season.most_records,
        season.weight_units,
        float(math.ceil(sd / total)),
        math.ceil(window.threshold / total),
        season.share_units,
        season.share_scales[place.week - 1],
    )
    return WeightedListMechanism(event).finding
