"""A release of the clusters that people's points form, from both groups (hybrid k-means).

Its steps, top to bottom, are in `tasks/products/clusters/steps.py`.
"""

from flows.walking.walk import walk
from tasks.orchestration.reasons import form_flow
from tasks.products.clusters import CLUSTERS
from tasks.products.clusters.request import KMeansRequest
from tasks.release.outcome import Outcome


@form_flow
def kmeans(request: KMeansRequest) -> Outcome:
    """Publish clusters of people's points; run again, it returns the same for free."""
    return walk(CLUSTERS, request)
