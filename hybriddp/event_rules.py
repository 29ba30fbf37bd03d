"""What all events have in common: which neighbours they compare, and what noise must cost."""

from enum import Enum

from hybriddp.errors import require
from hybriddp.noise import DiscreteLaplace
from hybriddp.params import Budget

# Replacing a user takes one record away and adds one: two counts move by one each.
REPLACE_ONE_SENSITIVITY = 2


class Neighbours(Enum):
    """Which two data sets an event's promise compares."""

    REPLACE_ONE_USER = "replace-one-user"
    ADD_OR_REMOVE_ONE_USER = "add-or-remove-one-user"


def check_noise(budget: Budget, noise_scale: float, l1_sensitivity: int) -> None:
    """Refuse noise that costs more than the budget."""
    epsilon = DiscreteLaplace(noise_scale).epsilon(l1_sensitivity)
    require(
        epsilon <= budget.epsilon,
        f"noise must cost at most epsilon = {float(budget.epsilon):.6g}",
        f"{float(epsilon):.17g} at scale {noise_scale:.6g}",
        "raise the scale",
    )
