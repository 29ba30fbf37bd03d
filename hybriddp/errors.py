"""The exceptions that hybriddp raises on purpose.

HybridDPError
├── InvalidParameter (also a ValueError)   a value breaks a rule; it says which and what to do
└── UnknownEvent     (also a TypeError)    an accountant was given an event that it cannot price
"""

from collections.abc import Collection


class HybridDPError(Exception):
    """Everything hybriddp raises on purpose; catch this to catch all of it."""


class InvalidParameter(HybridDPError, ValueError):
    """A parameter breaks a rule.

    The message names the subject, the rule, the value and the remedy. Values come from
    configuration or from array shapes, never from a log, a roster or a report.
    """


class UnknownEvent(HybridDPError, TypeError):
    """An accountant cannot price this event; it refuses instead of guessing."""


def require(is_met: bool, rule: str, value: object, remedy: str) -> None:
    """Raise InvalidParameter with one fixed form of message unless the rule is met."""
    if not is_met:
        raise InvalidParameter(f"{rule}, got {value}; {remedy}.")


def require_count(value: object, name: str) -> None:
    """Raise InvalidParameter unless the value is a Python integer of at least 1."""
    require(
        type(value) is int and value >= 1,
        f"{name} must be a whole number of at least 1",
        repr(value),
        "give a positive integer",
    )


def require_one_of(value: object, name: str, known: Collection[str]) -> None:
    """Raise InvalidParameter unless the value is one of those that are known."""
    require(
        value in known,
        f"{name} must be one of {', '.join(known)}",
        repr(value),
        "take one of these",
    )
