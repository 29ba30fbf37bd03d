"""Which values manifests and parameters may hold: plain functions that say whether one fits.

A signature says who wrote a manifest, not that it makes sense. Models take their fields through
these, so that an odd value stops at the door.
"""

import re
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from pydantic import BeforeValidator

from hybriddp.errors import InvalidParameter
from hybriddp.exact import exact
from tasks.store.reading import is_text

Form = Callable[[Any], bool]

MOST = 10**18  # units of epsilon or delta: far more than any promise, and it fits 64 bits


def fitting(form: Form) -> BeforeValidator:
    """Let the field of a model take what fits a form, and nothing else."""

    def check(value: Any) -> Any:
        if not form(value):
            raise ValueError("a value that no release has")
        return value

    return BeforeValidator(check)


def whole(low: int, high: int) -> Form:
    """A whole number between these."""
    return lambda value: type(value) is int and low <= value <= high


def text(pattern: str) -> Form:
    """A text of this pattern."""
    compiled = re.compile(pattern)
    return lambda value: is_text(value) and compiled.fullmatch(value) is not None


def one_of(*known: object) -> Form:
    """One of these."""
    return lambda value: any(type(value) is type(one) and value == one for one in known)


def maybe(form: Form) -> Form:
    """Nothing, or this."""
    return lambda value: value is None or form(value)


def listed(form: Form, high: int) -> Form:
    """A list of these, of at most so many."""
    return lambda value: isinstance(value, list) and len(value) <= high and all(map(form, value))


def keyed(key: Form, form: Form, high: int) -> Form:
    """An object of at most so many such values under such keys."""
    return lambda value: (
        isinstance(value, dict)
        and len(value) <= high
        and all(key(name) and form(inner) for name, inner in value.items())
    )


def fields(forms: Mapping[str, Form], others: Form | None = None) -> Form:
    """An object with exactly these fields; with `others`, also with some that nobody computes."""

    def fits(value: Any) -> bool:
        if not isinstance(value, dict) or not set(forms) <= set(value) or len(value) > _FIELDS:
            return False
        rest = [inner for name, inner in value.items() if name not in forms]
        known = all(form(value[name]) for name, form in forms.items())
        return known and (not rest if others is None else all(map(others, rest)))

    return fits


def number(value: Any) -> bool:
    """A number near a share; what is none, or has no end, is not between these."""
    return type(value) in (int, float) and -1 <= value <= 2


def exact_number(value: Any) -> bool:
    """A number that was written exactly, such as 4 or 1/100000."""
    try:
        return is_text(value) and abs(exact(value, "a number")) <= MOST
    except InvalidParameter:
        return False


def moment(value: Any) -> bool:
    """A date and time with its zone."""
    try:
        return is_text(value) and datetime.fromisoformat(value).tzinfo is not None
    except ValueError:
        return False


_FIELDS = 60  # of an object, those included that nobody here computes with
short = text(r"[^\x00-\x1f\x7f]{0,500}")
named = text(r"(?s).{1,2000}")  # as whoever wrote a log named a column
name = text(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
digest = text(r"[0-9a-f]{64}")
size = whole(0, 10**12)
counted = keyed(name, size, 20)
scalar: Form = lambda value: (  # noqa: E731 - forms read as names
    value is None or type(value) is bool or whole(-MOST, MOST)(value) or short(value)
)
