"""Rows of the ledger as tests write them by hand: whole, with as little in them as can be."""

from collections.abc import Iterable
from typing import Any

from tasks.budget.policy import Policy
from tasks.ledger.payloads import Drawn, DrawStarted, Publication, Reserved, Terms

TERMS = Terms(epsilon_nano=4 * 10**9, delta_atto=10**13, members=2)
STARTED = DrawStarted(event={}, token="")
DRAWN = Drawn(file="", sha256="")
PUBLISHED = Publication(
    created="2026-11-16T00:00:00+00:00",
    sequence=1,
    previous=None,
    revision=1,
    code_version="0.2.0",
    settings={},
    blocked=[],
)


def reserved(
    groups: Iterable[str] = ("S", "T", "C"), terms: Terms = TERMS, **facts: Any
) -> Reserved:
    """Return a reservation of these groups, on the same terms for each."""
    usual: dict[str, Any] = {
        "product": "search", "epoch": "2026-W46", "locale": "all", "parameters": {},
        "policy": Policy().statement, "participation": "none",
    }  # fmt: skip
    return Reserved(groups=dict.fromkeys(groups, terms), **usual | facts)
