"""Histograms of keywords, queries, pairs and clicks, by ZEALOUS."""

from typing import Final

from hybriddp.zealous.item_kinds import ITEM_KINDS
from tasks.products.product import Group, Product

ZEALOUS: Final = "zealous"

HISTOGRAMS = Product.in_room(
    __name__,
    request="ZealousRequest",
    settings="HistogramSettings",
    name="zealous",
    help="Publish which items of a log many people share; run it again to get the same for free.",
    strategies=(ZEALOUS,),
    # Whoever takes part is in every histogram that the release publishes.
    people=(
        tuple(
            Group(kind, f"the histogram of {kind}", f"{kind}_histogram.parquet")
            for kind in ITEM_KINDS
        ),
    ),
    event_modules=("hybriddp.zealous.events",),
    lists=ITEM_KINDS,
    suites=("raw_log", "histograms"),
)
