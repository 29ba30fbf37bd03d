"""What a check of a publication says, and how it fails."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hybriddp.errors import HybridDPError
from hybriddp.params import Budget
from tasks.policy import Charge


class VerificationFailed(HybridDPError):
    """A release is not what its publisher signed, or must not be used any more."""


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was checked, and passed."""

    name: str
    detail: str


def require_prices(manifest: Mapping[str, Any], prices: Mapping[str, Budget]) -> None:
    """See that every group, and nobody else, was promised what it costs."""
    promised = {
        group: (terms["epsilon_nano"], terms["delta_atto"])
        for group, terms in manifest["guarantees"].items()
    }
    charges = {group: Charge.of(price) for group, price in prices.items()}
    if promised != {group: (charge.epsilon, charge.delta) for group, charge in charges.items()}:
        raise VerificationFailed("the guarantees are not what the parameters cost.")
