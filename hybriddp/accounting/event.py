"""What happened to people's data, as typed events.

An event describes one access to private data by the numbers that were drawn with. Events are never
removed and never change their meaning, since ledgers hold them for ever.

Every event carries the budget that it was promised to keep, and cannot be built if its own numbers
cost more. It owns all that is known of it: its price, what it loses when it is composed with
others, and the form in which a ledger keeps it.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, ClassVar, Self, TypeVar

from hybriddp.accounting.losses import Losses
from hybriddp.accounting.price import Price
from hybriddp.errors import UnknownEvent, require
from hybriddp.noise.laplace import DiscreteLaplace
from hybriddp.params import Budget

# Replacing a user takes one record away and adds one: two counts move by one each.
REPLACE_ONE_SENSITIVITY = 2


class Neighbours(Enum):
    """Which two data sets an event's promise compares."""

    REPLACE_ONE_USER = "replace-one-user"
    ADD_OR_REMOVE_ONE_USER = "add-or-remove-one-user"


@dataclass(frozen=True, slots=True)
class Event(ABC):
    """One access to people's data, and what each of them was promised to lose at most."""

    budget: Budget

    neighbours: ClassVar[Neighbours] = Neighbours.REPLACE_ONE_USER

    @property
    def price(self) -> Price:
        """What it adds to a person's account: its budget, unless it is known better."""
        return Price(self.budget.epsilon, self.budget.delta)

    @abstractmethod
    def losses(self) -> Losses:
        """Return parts whose composition dominates whatever neighbours can tell from it."""

    @abstractmethod
    def numbers(self) -> dict[str, Any]:
        """Return what it was drawn with, exactly: fractions as text, floats as hexadecimal."""

    @classmethod
    @abstractmethod
    def of_numbers(cls, budget: Budget, numbers: Mapping[str, Any]) -> Self:
        """Build it again from what a ledger kept; it checks again that it keeps its budget."""


E = TypeVar("E", bound=type[Event])
_KNOWN: dict[str, type[Event]] = {}


def known(kind: E) -> E:
    """Make a type of event one that accountants price and ledgers keep.

    Only what is declared so counts: a subclass of it could have lifted the checks.
    """
    name = kind.__name__
    if name in _KNOWN:
        raise UnknownEvent(f"{name} is known already; ledgers hold events by name, for ever.")
    _KNOWN[name] = kind
    return kind


def require_known(event: object) -> Event:
    """Return the event, if somebody has declared how it is priced and kept."""
    if not isinstance(event, Event) or type(event) not in _KNOWN.values():
        raise UnknownEvent(
            f"event must be one of {sorted(_KNOWN)}, got {type(event).__name__}; declare how it "
            "is priced and kept first."
        )
    return event


def to_json(event: Event) -> dict[str, Any]:
    """Write an event as a ledger keeps it; what nobody could price is refused."""
    budget = require_known(event).budget
    return {
        "type": type(event).__name__,
        "epsilon": str(budget.epsilon),
        "delta": str(budget.delta),
        **event.numbers(),
    }


def from_json(fields: Mapping[str, Any]) -> Event:
    """Build an event again; its module must have been imported."""
    kind = _KNOWN.get(str(fields.get("type")))
    if kind is None:
        raise UnknownEvent(
            "the ledger holds an event that this version does not know; update hybriddp."
        )
    return kind.of_numbers(Budget(fields["epsilon"], fields["delta"]), fields)


def check_noise(budget: Budget, noise_scale: float, l1_sensitivity: int) -> None:
    """Refuse noise that costs more than the budget."""
    epsilon = DiscreteLaplace(noise_scale).epsilon(l1_sensitivity)
    require(
        epsilon <= budget.epsilon,
        f"noise must cost at most epsilon = {float(budget.epsilon):.6g}",
        f"{float(epsilon):.17g} at scale {noise_scale:.6g}",
        "raise the scale",
    )
