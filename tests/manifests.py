"""Manifests as tests write them by hand: whole, and of no release."""

from typing import Any


def manifest_of(**facts: Any) -> dict[str, Any]:
    """Return what every manifest says, with what a test says besides or instead."""
    return {
        "schema_version": 3, "product": "search", "locale": "all", "epoch": "2026-W46",
        "release_id": "0" * 32, "attempt": 1, "revision": 1, "sequence": 1, "previous": None,
        "created": "2026-11-16T00:00:00+00:00", "expires": "2026-11-30T00:00:00+00:00",
        "code_version": "0.2.0", "measurements": {}, "files": {}, "rows": {},
        "ledger": {"seq": 1, "hash": "0" * 64},
        "cap": {"cap_epsilon_nano": 10**9, "cap_delta_atto": 0, "window_days": None},
        **facts,
    }  # fmt: skip


def guarantees_of(**people: int) -> dict[str, dict[str, Any]]:
    """Return a guarantee of nothing much for groups of these sizes."""
    usual = {"role": "r", "trusts": "t", "neighbours": "n", "epsilon_nano": 1, "delta_atto": 0}
    return {group: {**usual, "people": size} for group, size in people.items()}
