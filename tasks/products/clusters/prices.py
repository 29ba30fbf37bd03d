"""What people pay for clusters, from their exact parameters."""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from hybriddp.params import Budget
from tasks.products.clusters import ANSWERS, POINTS


def cluster_prices(parameters: Mapping[str, Any]) -> dict[str, Budget]:
    """Return what a member of each group pays, from the exact text of measurement parameters."""
    return dict.fromkeys((POINTS, ANSWERS), Budget(Fraction(parameters["epsilon"])))
