"""A release of histograms: keywords, queries, pairs of queries and clicks (ZEALOUS).

Its steps, top to bottom, are in `tasks/products/histograms/steps.py`.
"""

from flows.walking.walk import walk
from tasks.orchestration.reasons import form_flow
from tasks.products.histograms import HISTOGRAMS
from tasks.products.histograms.request import ZealousRequest
from tasks.release.outcome import Outcome


@form_flow
def zealous(request: ZealousRequest) -> Outcome:
    """Publish which items of a log many people share; run again, it returns the same for free."""
    return walk(HISTOGRAMS, request)
