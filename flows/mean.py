"""A release of the mean of a number that every person has, from both groups (hybrid means).

Its steps, top to bottom, are in `tasks/products/mean/steps.py`.
"""

from flows.walking.walk import walk
from tasks.orchestration.reasons import form_flow
from tasks.products.mean import MEANS
from tasks.products.mean.request import MeanRequest
from tasks.release.outcome import Outcome


@form_flow
def mean(request: MeanRequest) -> Outcome:
    """Publish a mean of people's numbers; run again, it returns the same for free."""
    return walk(MEANS, request)
