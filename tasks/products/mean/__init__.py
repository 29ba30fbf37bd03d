"""The mean of a number that every person has."""

from tasks.products.product import Group, Later, Product

MEAN = "mean"
# Opt-in people are in the sums and, if these are asked for, in the squares.
SUMS, SQUARES, NUMBERS = "sums", "squares", "numbers"

MEANS = Product(
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
    has_lists=False,
    suites=("raw_numbers", "means"),
    checking_part=Later("tasks.products.mean.verify"),
    making_part=Later("tasks.products.mean.product"),
    settings_part=Later("tasks.products.mean.request", "MeanSettings"),
    request_part=Later("tasks.products.mean.request", "MeanRequest"),
    working_part=Later("tasks.products.mean.steps"),
    summary_part=Later("tasks.products.mean.summary", "summary"),
)
