"""What of the ledger may leave the private zone: the chain and group totals, nobody's account."""

from typing import Any

from tasks.budget.showing.overview import checked_rows
from tasks.ledger.chain import as_stored
from tasks.ledger.payloads import DrawStarted
from tasks.ledger.rules import Kind
from tasks.store.home import Home

# What an export says of Gaussian losses, where there are such.
_BESIDE = "for whoever has a Gaussian loss, in place of the whole cap: the most"
_MEANING = {
    "rho_pico": "a Gaussian loss, in units of 1e-12: it adds up over releases, beside epsilon and "
    "delta, and all of it together is one epsilon at one delta",
    "gaussian_epsilon_nano": f"{_BESIDE} epsilon of all other losses",
    "gaussian_delta_atto": f"{_BESIDE} delta; the rest of the cap's delta converts rho",
    "gaussian_rho_pico": f"{_BESIDE} rho; it is the rest of the cap's epsilon at the rest of its "
    "delta, so that all together stay inside the cap",
}


def public_export(home: Home) -> dict[str, Any]:
    """Return what may leave the private zone: group totals and the chain, nothing about people."""
    entries, _ = checked_rows(home)
    shown = (Kind.RESERVED, Kind.VOIDED, Kind.PUBLISHED, Kind.REVISED, Kind.WITHHELD)
    rows = []
    for entry in entries:
        row: dict[str, Any] = {"seq": entry.seq, "previous": entry.previous, "hash": entry.hash}
        if entry.kind in (*shown, Kind.WITHDRAWN, Kind.DRAW_STARTED, Kind.DRAWN):
            row |= {
                "kind": str(entry.kind),
                "at": entry.at,
                "release_id": entry.release_id,
                "attempt": entry.attempt,
                "draw": entry.draw,
            }
        if entry.kind is Kind.RESERVED:
            said = as_stored(entry)
            row |= {name: said[name] for name in ("product", "epoch", "locale", "groups", "policy")}
        if entry.kind is Kind.DRAW_STARTED:
            row |= {"event": entry.said(DrawStarted).event}
        if entry.kind is Kind.POLICY:
            row |= {"kind": str(entry.kind), "at": entry.at, "policy": as_stored(entry)}
        rows.append(row)
    head = {"seq": entries[-1].seq, "hash": entries[-1].hash} if entries else None
    exported: dict[str, Any] = {"schema_version": 1, "head": head, "entries": rows}
    # Exports without any of it are what they always were.
    meant = {name: words for name, words in _MEANING.items() if any(_says(r, name) for r in rows)}
    return exported | ({"meaning": meant} if meant else {})


def _says(row: dict[str, Any], name: str) -> bool:
    """Whether an exported row states this of a group or of the cap."""
    return any(
        name in stated for stated in (row.get("policy", {}), *row.get("groups", {}).values())
    )
