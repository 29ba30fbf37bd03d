"""Would a head list hold anything? From public facts, before anybody pays."""

from collections.abc import Mapping
from pathlib import Path

from hybriddp.blender.mechanisms import finding_mechanism
from hybriddp.planning.forecast import expected_named
from tasks.gates.forecast import PROFILE, Forecast, profile_law, published_law
from tasks.products.head_list import HEADLIST
from tasks.products.head_list.request import ReleaseRequest


def forecast_of(request: ReleaseRequest, sizes: Mapping[str, int], before: Path | None) -> Forecast:
    """Predict from how many people would find the list."""
    n_people = sizes.get(HEADLIST, 0)
    params = request.params()
    mechanism = finding_mechanism(params)
    law, prior = published_law(before, "head_list"), "the list that is published now"
    if law is None:
        law, prior = profile_law(), f"the synthetic profile {PROFILE}"
    n_each, units = mechanism.given(request.records_per_user)
    n_records = expected_named(mechanism, n_people * n_each, law, units)
    return Forecast(n_records, n_people, mechanism.people_needed, prior)
