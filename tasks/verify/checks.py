"""What a check of a publication says, and how it fails."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hybriddp.errors import HybridDPError
from hybriddp.params import Budget
from tasks.budget.policy import Charge
from tasks.products.registry import product_of


class VerificationFailed(HybridDPError):
    """A release is not what its publisher signed, or must not be used any more."""


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was checked, and passed."""

    name: str
    detail: str


def require_prices(manifest: Mapping[str, Any], prices: Mapping[str, Budget]) -> None:
    """See that every group, and nobody else, was promised what it costs, and the cap holds it."""
    promised = {
        group: (terms["epsilon_nano"], terms["delta_atto"])
        for group, terms in manifest["guarantees"].items()
    }
    charges = {group: Charge.of(price) for group, price in prices.items()}
    if promised != {group: (charge.epsilon, charge.delta) for group, charge in charges.items()}:
        raise VerificationFailed("the guarantees are not what the parameters cost.")
    cap = manifest["cap"]
    for together in product_of(manifest["parameters"]).people_of(charges):
        epsilon = sum(charges[group].epsilon for group in together)
        delta = sum(charges[group].delta for group in together)
        if epsilon > cap["cap_epsilon_nano"] or delta > cap["cap_delta_atto"]:
            raise VerificationFailed("the cap is below what a person pays for this release alone.")


def require_same_people(manifest: Mapping[str, Any]) -> None:
    """See that groups which have the same people have as many of them."""
    stated = manifest["guarantees"]
    for together in product_of(manifest["parameters"]).people_of(stated):
        if len({stated[group]["people"] for group in together}) > 1:
            raise VerificationFailed("groups of the same people do not have as many of them.")
