"""The head of a search log, by BLENDER."""

from hybriddp.params import HIGH_UTILITY, PAPER
from tasks.products.product import Group, Product

# Who finds the list, who measures it, and who reports on it; nobody is in two of them. With weights
# everybody who opted in finds it and measures it, and nobody is in T.
HEADLIST, HISTOGRAM, CLIENTS = "S", "T", "C"
# Those of S whose first week of a season it is: they pay for all of its tests.
JOINING = "J"
# The groups of a week of a season, and the draws that find a list.
OF_A_WEEK, FINDING = (JOINING, HEADLIST, CLIENTS), (JOINING, HEADLIST)
# What a person can be asked about before devices see it.
THE_LIST = "the list"

HEAD_LIST = Product.in_room(
    __name__,
    request="ReleaseRequest",
    settings="PublishSettings",
    name="release",
    help="Publish the head of a search log; run it again to go on, or to get the same list for "
    "free.",
    strategies=(HIGH_UTILITY, PAPER),
    people=(
        (
            Group(JOINING, "joining the season", "found.parquet", is_part=True),
            Group(HEADLIST, "finding the list", "head_list_draw.parquet"),
        ),
        (Group(HISTOGRAM, "measuring it", "optin_histogram.parquet"),),
        (Group(CLIENTS, "clients", "client_reports.parquet", is_client=True),),
    ),
    event_modules=(
        "hybriddp.blender.events",
        "hybriddp.blender.weighted.events",
        "hybriddp.randomizers.events",
        "hybriddp.series.events",
    ),
    lists=("head_list", "trends"),
    remembers=True,
    suites=("raw_log", "head_list", "trends", "changes", "release"),
    shows_devices=HEADLIST,
    decisions={"listed": "left_out.json"},
)
