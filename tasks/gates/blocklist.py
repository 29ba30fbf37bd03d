"""Queries that are never published, whatever people search for."""

import unicodedata
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from hybriddp.device.normalise import normalise_query
from tasks.ledger.payloads import Listed, Publication, Reserved
from tasks.ledger.rules import PUBLICATIONS, Entry, Kind
from tasks.release.refusals import BadInput

if TYPE_CHECKING:
    from tasks.products.head_list.request import ReleaseRequest
    from tasks.release.run import Release


def blocked_queries(
    release: "Release", blocklist: Path | None, listed: Callable[["Release"], Iterable[str]]
) -> frozenset[str]:
    """Return the listed queries to leave out: those of the blocklist, and those of the last time.

    What was blocked stays so: a list that forgets a text must not publish it again.
    """
    earlier = [e for e in release.state.entries if e.kind in PUBLICATIONS]
    kept: frozenset[str] = frozenset(earlier[-1].said(Publication).blocked if earlier else ())
    new = read_blocklist(blocklist)
    return kept | (new & frozenset(listed(release)) if new else new)


def left_out(release: "Release") -> frozenset[str]:
    """Return the queries that S named and that devices are not asked about."""
    row = release.state.find(Kind.LISTED)
    return frozenset(row.said(Listed).left_out) if row else frozenset()


def require_blocklist(request: "ReleaseRequest", entries: list[Entry]) -> None:
    """Refuse to forget a blocklist in a series: names stay known, and would be shown again.

    They come from weeks of a season and from lists before it, whatever became of them since.
    """
    reserved = {e.key: e.said(Reserved) for e in entries if e.kind is Kind.RESERVED}
    lists = {k for k, r in reserved.items() if r.slot[::2] == (request.product, request.locale)}
    blocking = [e for e in entries if e.key in lists and _kept_back(e)]
    if blocking and request.blocklist is None:
        raise BadInput(
            f"epoch {reserved[blocking[-1].key].epoch} of {request.product}/{request.locale} kept "
            "queries back by a blocklist, and names of a series come back by themselves: give "
            "--blocklist in every epoch (an empty file if nothing is to be kept back any more). "
            "Until then nobody is charged and nothing is drawn."
        )


def _kept_back(row: Entry) -> bool:
    if row.kind is Kind.LISTED:
        return bool(row.said(Listed).left_out)
    return row.kind in PUBLICATIONS and bool(row.said(Publication).blocked)


def read_blocklist(path: Path | None) -> frozenset[str]:
    """Read the queries that are never published, one a line, normalised like any query.

    A character that no editor shows would leave a query unblocked, so a line counts with those
    around it and without.
    """
    if path is None:
        return frozenset()
    try:
        lines = path.read_bytes().decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise BadInput(f"{path}, line {line}: it is not UTF-8; save the blocklist so.") from None
    except OSError:
        raise BadInput(f"{path} cannot be read as a blocklist; write one query a line.") from None
    if "\r" in lines.removesuffix("\r") or "\0" in lines:
        raise BadInput(
            f"{path} holds carriage returns or zero bytes inside of lines, so nobody knows what "
            "its queries are; save it as UTF-8 with a line feed behind every query."
        )
    # Not splitlines(): a query may hold what Unicode takes for line ends, and means a space.
    typed = lines.split("\n")
    return frozenset(filter(None, map(normalise_query, [*typed, *map(_without_unseen, typed)])))


def _without_unseen(line: str) -> str:
    """Return a line without white space and characters of no width around it."""
    unseen = {c for c in line if c.isspace() or unicodedata.category(c) == "Cf"}
    return line.strip("".join(unseen))
