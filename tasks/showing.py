"""Show any text harmlessly: in Markdown, in a table of Prefect, in a drawing.

A query, a column or a file may be named like markup, a formula, or an escape code of terminals.
"""

import html
import re
from collections.abc import Mapping, Sequence
from typing import Any

# Control characters, those that turn the direction of writing, and what XML cannot hold.
_UNSEEN = re.compile(
    "[\x00-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]"
)
_MARKS = re.compile(r"[\\`*\[\]|~#$]")


def visible(text: object) -> str:
    """Return a text in which every character can be seen; others are written as codes."""
    return _UNSEEN.sub(lambda found: f"\\u{ord(found[0]):04x}", str(text))


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
