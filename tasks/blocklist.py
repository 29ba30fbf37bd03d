"""Queries that are never published, whatever people search for."""

from collections.abc import Callable, Iterable
from pathlib import Path

from hybriddp.normalise import normalise_query
from tasks.ledger_rules import PUBLICATIONS
from tasks.log_files import BadInput
from tasks.run import Release


def blocked_queries(
    release: Release, blocklist: Path | None, listed: Callable[[Release], Iterable[str]]
) -> frozenset[str]:
    """Return the listed queries to leave out: those of the blocklist, and those of the last time.

    What was blocked stays so: a list that forgets a text must not publish it again.
    """
    earlier = [e for e in release.state.entries if e.kind in PUBLICATIONS]
    kept: frozenset[str] = frozenset(earlier[-1].payload["blocked"] if earlier else ())
    new = read_blocklist(blocklist)
    return kept | (new & frozenset(listed(release)) if new else new)


def read_blocklist(path: Path | None) -> frozenset[str]:
    """Read the queries that are never published, one a line, normalised like any query."""
    if path is None:
        return frozenset()
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        raise BadInput(f"{path} cannot be read as a blocklist; write one query a line.") from None
    return frozenset(filter(None, map(normalise_query, lines)))
