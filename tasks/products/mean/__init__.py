"""The mean of a number that every person has."""

from typing import Final

from tasks.products.product import Group, Product

MEAN: Final = "mean"
# Opt-in people are in the sums and, if these are asked for, in the squares.
SUMS, SQUARES, NUMBERS = "sums", "squares", "numbers"

MEANS = Product.in_room(
    __name__,
    request="MeanRequest",
    settings="MeanSettings",
    name="mean",
    help="Publish the mean of a number that every person has; run it again to get it for free.",
    strategies=(MEAN,),
    people=(
        (
            Group(SUMS, "opt-in people", "value_sums.parquet"),
            Group(SQUARES, "opt-in people", "squared_differences.parquet"),
        ),
        (Group(NUMBERS, "clients", "value_reports.parquet", is_client=True),),
    ),
    event_modules=("hybriddp.mean.events",),
    lists=(),
    suites=("raw_numbers", "means"),
)
