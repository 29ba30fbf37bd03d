"""Would histograms hold anything? From public facts, before anybody pays."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from hybriddp.planning.forecast import expected_named
from hybriddp.zealous.mechanism import ZealousMechanism
from tasks.gates.forecast import Forecast, published_law
from tasks.products.histograms.request import ZealousRequest


def forecast_of(request: ZealousRequest, sizes: Mapping[str, int], before: Path | None) -> Forecast:
    """Predict from how many people would take part in each."""
    n_records, n_needed, prior = 0.0, [], "an item that everybody has"
    for kind, budget in request.prices().items():
        n_people = sizes.get(kind, 0)
        mechanism = ZealousMechanism.for_budget(
            budget, request.relaxation, request.items_per_user, max(n_people, 1)
        )
        n_needed.append(mechanism.threshold + 1)
        law = published_law(before, kind, per=kind)
        if law is None:
            law = np.ones(1)  # nothing is known but that more people cannot have it
        else:
            prior = "the histograms that are published now"
        n_records += expected_named(mechanism, n_people, law)
    return Forecast(n_records, max(sizes.values(), default=0), min(n_needed), prior)
