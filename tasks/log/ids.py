"""One canonical form of a person's id, wherever it is written: log, roster, ledger commands.

A person's account is a keyed hash of the canonical id, for life. So a form never changes: a new
one gets a new name, and a ledger keeps the form that it began with. Forms:

- `nfc-trim-2`: Unicode's NFC, then white space and byte order marks trimmed from both ends; exact
  otherwise: case, inner spaces and leading zeros tell people apart.
- `trim-1`: what version 0.1.0 did: Unicode's space separators trimmed, and nothing else.

An id of more than 1,000 bytes, as it is written, names nobody: its rows are bad, and a roster with
one is refused.

Spellings that are most likely one human (`142` and `0142`) stay two ids. `tasks.log.folded_ids`
finds them, and the gate on the raw log refuses them.
"""

import unicodedata
from collections.abc import Iterable
from typing import Any

import pyarrow as pa

from hybriddp.errors import require
from tasks.ledger.payloads import Founded
from tasks.ledger.rules import Entry, Kind

# As written, without spaces around it. A longer id names nobody: Unicode's forms take a time that
# grows with the square of an id, so one person could stop everybody's release.
MAX_ID_BYTES = 1_000

NEWEST_FORM = "nfc-trim-2"
FIRST_FORM = "trim-1"

_SEPARATORS = " \u00a0\u1680" + "".join(map(chr, range(0x2000, 0x200B))) + "\u202f\u205f\u3000"
_WHITE_SPACE = "\t\n\v\f\r\u0085\u2028\u2029" + _SEPARATORS
_TRIMMED = {FIRST_FORM: _SEPARATORS, NEWEST_FORM: _WHITE_SPACE + "\ufeff"}
# Of Unicode 3.2, which Python keeps for ever: another version of Python must not make another
# account of an id with letters that were new to an older one.
_normalise = unicodedata.ucd_3_2_0.normalize


def id_form_of(entries: Iterable[Entry]) -> str:
    """Return the form of ids that a ledger uses: as its first row says.

    A ledger of version 0.1.0 has no such row; it keeps its form once it knows anybody.
    """
    form = NEWEST_FORM
    for entry in entries:
        if entry.kind is Kind.FOUNDED:
            form = entry.said(Founded).id_form
            break
        if entry.kind is not Kind.POLICY:  # people were charged, opted out or were erased
            form = FIRST_FORM
    require(form in _TRIMMED, f"id_form must be one of {sorted(_TRIMMED)}", form, "update hybriddp")
    return form


def canonical(text: str, form: str = NEWEST_FORM) -> str:
    """Return the canonical id."""
    if form != FIRST_FORM:
        text = _normalise("NFC", text)
    return text.strip(_TRIMMED[form])


def in_sql(form: str) -> dict[str, Any]:
    """Return the parameters of the SQL that makes ids canonical.

    Printable ASCII, nearly everything, is canonical in every form if no space is around it: SQL
    sees that. Other ids go through `canonical` itself.
    """
    return {"id_form": form, "max_id_bytes": MAX_ID_BYTES}


def canonical_ids(texts: pa.Array, forms: pa.Array) -> pa.Array:
    """Return the canonical ids of a column; the second column says, always the same, which form."""
    form = forms[0].as_py() if len(forms) else NEWEST_FORM
    return pa.array(
        [None if text is None else canonical(text, form) for text in texts.to_pylist()], pa.string()
    )
