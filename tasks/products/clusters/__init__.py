"""The clusters that people's points form, by hybrid k-means."""

from typing import Final

from tasks.products.product import Group, Product

KMEANS: Final = "kmeans"
# Opt-in people's points, and what clients answer about theirs.
POINTS, ANSWERS = "points", "answers"

CLUSTERS = Product.in_room(
    __name__,
    request="KMeansRequest",
    settings="ClusterSettings",
    name="kmeans",
    help="Publish the clusters that people's points form; run it again to get them for free.",
    strategies=(KMEANS,),
    people=(
        (Group(POINTS, "opt-in people", "cluster_sums.parquet"),),
        (Group(ANSWERS, "clients", "cluster_reports.parquet", is_client=True),),
    ),
    event_modules=("hybriddp.kmeans.events",),
    lists=(),
    suites=("raw_numbers", "clusters"),
)
