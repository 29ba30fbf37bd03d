"""Show any text harmlessly: in a terminal, in Markdown, in a table of Prefect, in a drawing.

A query, a column or a file may be named like markup, a formula, or an escape code of terminals.
"""

import html
import re
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any

# Control characters, surrogates, private and unassigned ones, and line ends of Unicode's own.
_STEERING = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
_JOINERS = "\u200c\u200d"  # scripts need them, and they steer nothing
_MARKS = re.compile(r"[\\`*\[\]|~#$]")


def visible(text: object, keep: str = "") -> str:
    """Return a text in which every character can be seen; others, but for `keep`, become codes."""
    kept = keep + _JOINERS
    return "".join(
        spelled(c) if unicodedata.category(c) in _STEERING and c not in kept else c
        for c in str(text)
    )


def spelled(character: str) -> str:
    """Return a character as its code."""
    return character.encode("unicode_escape", "surrogatepass").decode("ascii")


def in_markdown(text: object) -> str:
    """Return a text that Markdown shows as it is, in a table, too; _ inside of words is no mark."""
    return _MARKS.sub(r"\\\g<0>", html.escape(visible(text), quote=False))


def in_drawing(text: object, n_letters: int) -> str:
    """Return the first letters of a text for an SVG drawing."""
    return html.escape(visible(text)[:n_letters])


def rows_to_show(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return rows whose texts can all be seen; Prefect shows them as they are."""
    return [
        {name: visible(value) if isinstance(value, str) else value for name, value in row.items()}
        for row in rows
    ]
