"""What a manifest must look like, field by field, before anything behind it believes a word.

A signature says who wrote a manifest, not that it makes sense. Forms are plain functions that
say whether a value fits; a product adds the forms of its own fields and parameters.
"""

import re
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from hybriddp.errors import InvalidParameter
from hybriddp.params import exact
from tasks.store.reading import is_plain_name, is_text

Form = Callable[[Any], bool]

# The manifests of version 0.1.0, and those since.
FIRST_SCHEMA, SCHEMA_VERSION = 2, 3
_MOST = 10**18  # units of epsilon or delta: far more than any promise, and it fits 64 bits


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
        return is_text(value) and abs(exact(value, "a number")) <= _MOST
    except InvalidParameter:
        return False


def moment(value: Any) -> bool:
    """A date and time with its zone."""
    try:
        return is_text(value) and datetime.fromisoformat(value).tzinfo is not None
    except ValueError:
        return False


_FIELDS = 60
short = text(r"[^\x00-\x1f\x7f]{0,500}")
named = text(r"(?s).{1,2000}")  # as whoever wrote a log named a column
name = text(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
digest = text(r"[0-9a-f]{64}")
size = whole(0, 10**12)
counted = keyed(name, size, 20)
scalar: Form = lambda value: (  # noqa: E731 - forms read as names
    value is None or type(value) is bool or whole(-_MOST, _MOST)(value) or short(value)
)
_TERMS = {"people": size, "epsilon_nano": whole(0, _MOST), "delta_atto": whole(0, _MOST)}

# Every manifest has these; a product adds its own.
COMMON: dict[str, Form] = {
    "schema_version": one_of(FIRST_SCHEMA, SCHEMA_VERSION),
    "product": name,
    "locale": name,
    "epoch": name,
    "release_id": text(r"[0-9a-f]{16,128}"),
    "attempt": whole(1, 10**6),
    "revision": whole(1, 10**6),
    "sequence": whole(1, 10**15),
    "previous": maybe(name),
    "created": moment,
    "expires": moment,
    "code_version": name,
    "cap": fields(
        {
            "cap_epsilon_nano": whole(1, _MOST),
            "cap_delta_atto": whole(0, _MOST),
            "window_days": maybe(whole(1, 36_525)),
        },
        scalar,
    ),
    "measurements": keyed(name, digest, 20),
    "ledger": fields({"seq": whole(1, 10**15), "hash": digest}),
    "files": keyed(is_plain_name, fields({"bytes": size, "sha256": digest}), 40),
    "guarantees": keyed(name, fields(_TERMS, short), 20),
    "rows": counted,
}
# What every kind of release was asked for; what a later version adds is not computed with.
PARAMETERS: dict[str, Form] = {
    "strategy": name,
    "epsilon": exact_number,
    "delta": exact_number,
    "optin": short,
    "rotation": whole(1, 10_000),
}


def misfit(manifest: Any, own: Mapping[str, Form], parameters: Mapping[str, Form]) -> str | None:
    """Return the name of a field that does not fit, or None if all do."""
    asked = {"parameters": fields({**PARAMETERS, **parameters}, scalar)}
    forms = {**COMMON, **asked, **own}
    if not isinstance(manifest, dict) or set(manifest) != set(forms):
        return "its fields"
    return next((field for field, form in forms.items() if not form(manifest[field])), None)
