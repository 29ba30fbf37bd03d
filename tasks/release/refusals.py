"""Why something does not go on: each kind of failure has one exit code, and plain words.

HybridDPError
├── BadInput        2  a file or a setting cannot be used
├── Stopped         1  somebody left a question without an answer
├── BudgetRefused   3  somebody would pay twice or beyond the cap
└── GateRefused     4  a quality gate said no                      (tasks.gates.quality)
"""

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from hybriddp.errors import HybridDPError

if TYPE_CHECKING:
    from pydantic import ValidationError

FAILED, BAD_INPUT, BUDGET_REFUSED, GATE_REFUSED = 1, 2, 3, 4
KINDS = {
    FAILED: "failed",
    BAD_INPUT: "bad_input",
    BUDGET_REFUSED: "budget_refused",
    GATE_REFUSED: "gate_refused",
}
# Every class that is raised on purpose, by name: looking a code up must import nothing. A class
# that is not here has the code of the class that it is made from.
EXIT_CODES = {
    "InvalidParameter": BAD_INPUT,
    "BadInput": BAD_INPUT,
    "KeyProblem": BAD_INPUT,
    "NoSpark": BAD_INPUT,
    "Unreadable": BAD_INPUT,
    "BudgetRefused": BUDGET_REFUSED,
    "GateRefused": GATE_REFUSED,
    "UnknownEvent": FAILED,
    "UnknownProduct": FAILED,
    "LedgerError": FAILED,
    "EngineFailed": FAILED,
    "StepFailed": FAILED,
    "Stopped": FAILED,
    "MachineFailed": FAILED,
    "ServerFailed": FAILED,
    "VerificationFailed": FAILED,
    "ReleaseRefused": FAILED,
    "Misfit": FAILED,
    "ReportRefused": FAILED,
    "AccountCorrupt": FAILED,
}


class BadInput(HybridDPError):
    """A file or a setting cannot be used; the message names where and what is wrong, no value."""


class BudgetRefused(HybridDPError):
    """The ledger does not allow this release."""


class Stopped(HybridDPError):
    """Somebody left a question without an answer; the message says what became of what it was."""


def exit_code_of(kind: type[BaseException]) -> int | None:
    """Return the exit code of a class of errors, if the table names it or what it is made from."""
    named = (
        EXIT_CODES[parent.__name__] for parent in kind.__mro__ if parent.__name__ in EXIT_CODES
    )
    return next(named, None)


def in_the_forms_words(message: str) -> str:
    """Name the field of Prefect's form where a message names the option of the command line."""
    return re.sub(
        r"(?<![\w-])--([a-z]+(?:-[a-z]+)*)", lambda m: m.group(1).replace("-", "_"), message
    )


def fields_at_fault(error: "ValidationError") -> str:
    """Say which settings break which rule, in one sentence."""
    faults = [
        f"{'.'.join(str(part) for part in fault['loc']) or 'the settings'}: {_words(fault)}"
        for fault in error.errors(include_url=False)
    ]
    return "; ".join(faults) + "."


def faults_of(error: BaseException) -> str:
    """Say which rules a single value breaks, if the error knows."""
    from pydantic import ValidationError

    if not isinstance(error, ValidationError):
        return "cannot be used"
    return "; ".join(_words(fault) for fault in error.errors(include_url=False))


_PLAIN = {
    "missing": "is needed; give it",
    "extra_forbidden": "is no setting of this; check its spelling or leave it out",
    "greater_than": "must be above {gt}",
    "greater_than_equal": "must be at least {ge}",
    "less_than": "must be below {lt}",
    "less_than_equal": "must be at most {le}",
    "finite_number": "must be a finite number",
    "literal_error": "must be one of {expected}",
    "enum": "must be one of {expected}",
    "string_pattern_mismatch": "must look like {pattern}",
    "too_short": "needs at least {min_length}",
    "too_long": "may have at most {max_length}",
    "string_too_short": "needs at least {min_length} characters",
    "string_too_long": "may have at most {max_length} characters",
}
# By the first word of the error's type: int_parsing, int_type, int_from_float, ...
_KINDS_OF_VALUE = {
    "int": "must be a whole number",
    "float": "must be a number",
    "bool": "must be true or false",
    "string": "must be a text",
    "path": "must be a path",
    "list": "must be a list",
    "tuple": "must be a list",
    "dict": "must be a table of names and values",
    "mapping": "must be a table of names and values",
    "model": "must be a table of names and values",
}
_SHOWN_CHARACTERS = 60


def _words(fault: Mapping[str, Any]) -> str:
    """Say in our words which rule a value breaks; a library's own words are for programmers."""
    kind, context = fault["type"], fault.get("ctx", {})
    if kind in ("value_error", "assertion_error"):  # ours: hybriddp.errors.require
        return str(context.get("error", "cannot be used")).rstrip(".")
    rule = _PLAIN.get(kind) or _KINDS_OF_VALUE.get(kind.partition("_")[0]) or "cannot be used"
    if kind in ("missing", "extra_forbidden"):
        return rule
    given = repr(fault["input"])
    if len(given) > _SHOWN_CHARACTERS:
        given = f"{given[:_SHOWN_CHARACTERS]}..."
    limits = {name: f"{v:g}" if isinstance(v, float) else v for name, v in context.items()}
    return f"{rule.format_map(limits)}, got {given}"
