"""What a check of a publication says, and how it fails."""

from collections.abc import Mapping
from dataclasses import dataclass

from hybriddp.accounting.price import Price
from hybriddp.errors import HybridDPError, InvalidParameter
from hybriddp.params import Budget
from tasks.budget.policy import Policy
from tasks.ledger.charges import Charge
from tasks.products.registry import product_with
from tasks.verify.manifest import Manifest


class VerificationFailed(HybridDPError):
    """A release is not what its publisher signed, or must not be used any more."""


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was checked, and passed."""

    name: str
    detail: str


@dataclass(frozen=True, slots=True)
class LeftOut:
    """The texts that were measured and are not shown; without a ledger (None) nobody knows all."""

    now: frozenset[str] | None = None
    before: frozenset[str] | None = None  # by the list that what changed is said against


def require_prices(manifest: Manifest, prices: Mapping[str, Budget | Price]) -> None:
    """See that every group, and nobody else, was promised what it costs, and the cap holds it."""
    promised = {
        group: Charge.of_terms(stated.terms) for group, stated in manifest.guarantees.items()
    }
    charges = {group: Charge.of(price) for group, price in prices.items()}
    if promised != charges:
        raise VerificationFailed("the guarantees are not what the parameters cost.")
    try:
        policy = Policy.stated(manifest.cap)
    except InvalidParameter:
        raise VerificationFailed("the cap does not cover its own parts.") from None
    for together in product_with(manifest.parameters.strategy).people_of(charges):
        if not policy.admits(Charge.sum(charges[group] for group in together)):
            raise VerificationFailed("the cap is below what a person pays for this release alone.")


def require_same_people(manifest: Manifest) -> None:
    """See that groups which have the same people have as many of them."""
    stated = manifest.guarantees
    product = product_with(manifest.parameters.strategy)
    for together in product.people_of(stated):
        sizes = {stated[g].people for g in together if not product.groups[g].is_part}
        if len(sizes) > 1 or any(stated[g].people > min(sizes, default=0) for g in together):
            raise VerificationFailed("groups of the same people do not have as many of them.")
