"""What a curator states about its ledger in a collection package; devices count with it.

Standard library only.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from hybriddp.device.canonical import FRACTION, REMEDY, check_known, check_text, read_object
from hybriddp.errors import require
from hybriddp.exact import Number, exact, shown
from hybriddp.params import Budget

# What a package asks of the devices of people whose searches the curator has already.
OPTED_IN_PEOPLE = "stay silent"

_HASH = re.compile(r"[0-9a-f]{64}")
# SQLite numbers its rows below this.
_MAX_SEQ = 2**63


@dataclass(frozen=True, slots=True)
class Loss:
    """A sum of budgets: like one, but possibly nothing, or more than any one release may ask."""

    epsilon: Fraction
    delta: Fraction

    def __init__(self, epsilon: Number = 0, delta: Number = 0) -> None:
        object.__setattr__(self, "epsilon", exact(epsilon, "epsilon"))
        object.__setattr__(self, "delta", exact(delta, "delta"))
        require(
            self.epsilon >= 0 and self.delta >= 0,
            "a loss must be at least 0",
            "a negative number",
            "add up what was spent",
        )

    @classmethod
    def of(cls, budget: Budget) -> "Loss":
        """Return one budget as a sum."""
        return cls(budget.epsilon, budget.delta)

    @classmethod
    def total(cls, losses: Iterable["Loss"]) -> "Loss":
        """Add up."""
        spent = list(losses)
        return cls(
            sum((loss.epsilon for loss in spent), Fraction(0)),
            sum((loss.delta for loss in spent), Fraction(0)),
        )

    def __add__(self, other: "Loss") -> "Loss":
        return Loss.total((self, other))

    def or_more(self, other: "Loss") -> "Loss":
        """Return what is at least both."""
        return Loss(max(self.epsilon, other.epsilon), max(self.delta, other.delta))

    def fits(self, cap: Budget) -> bool:
        """Whether this is within a cap."""
        return self.epsilon <= cap.epsilon and self.delta <= cap.delta

    def left_of(self, cap: Budget) -> "Loss":
        """Return what is left of a cap."""
        nothing = Fraction(0)
        return Loss(max(cap.epsilon - self.epsilon, nothing), max(cap.delta - self.delta, nothing))

    def texts(self) -> dict[str, str]:
        """Return both numbers exactly, as files hold them."""
        return {"epsilon": str(self.epsilon), "delta": str(self.delta)}

    def __str__(self) -> str:
        return f"({_short(self.epsilon)}, {_short(self.delta)})"


def larger_cap(one: Loss | None, other: Loss | None) -> Loss | None:
    """Return the cap that is at least both; None, which has no bound, is the largest."""
    return None if one is None or other is None else one.or_more(other)


def _short(number: Fraction) -> str:
    # Compared before it is printed: Python refuses to print integers of some thousand digits.
    is_short = max(number.numerator, number.denominator) < 10**24
    return str(number) if is_short else f"about {shown(number)}"


@dataclass(frozen=True, slots=True)
class CuratorStatement:
    """A head of the ledger, and the most that anybody was or is charged there for life.

    `lifetime_cap` bounds everything that the ledger charges one person, unless its cap is raised
    later; None says that there is no such bound, because the budget refills.
    """

    ledger_seq: int
    ledger_hash: str
    lifetime_cap: Loss | None

    def __post_init__(self) -> None:
        is_head = (
            type(self.ledger_seq) is int
            and 1 <= self.ledger_seq < _MAX_SEQ
            and isinstance(self.ledger_hash, str)
            and _HASH.fullmatch(self.ledger_hash) is not None
        )
        require(
            is_head,
            "ledger must be a row's number and its hash of 64 hexadecimal digits",
            "something else",
            REMEDY,
        )

    def fields(self) -> dict[str, Any]:
        """Return the fields of package.json that state it."""
        cap = self.lifetime_cap
        return {
            "ledger": {"seq": self.ledger_seq, "hash": self.ledger_hash},
            "lifetime_cap": cap and cap.texts(),
            "opted_in_people": OPTED_IN_PEOPLE,
        }

    @classmethod
    def read(cls, fields: dict[str, Any]) -> "CuratorStatement":
        """Read what package.json states."""
        check_known("opted_in_people", fields["opted_in_people"], OPTED_IN_PEOPLE)
        head, cap = read_object("ledger", fields["ledger"], {"seq", "hash"}), fields["lifetime_cap"]
        if cap is not None:
            parts = read_object("lifetime_cap", cap, {"epsilon", "delta"})
            for name, text in parts.items():
                check_text(name, text, FRACTION)
            cap = Loss(**parts)
        return cls(head["seq"], head["hash"], cap)


STATEMENT_KEYS = {"ledger", "lifetime_cap", "opted_in_people"}
