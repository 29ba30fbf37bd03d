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
    if request.blocklist is not None:
        return
    epoch = _kept_back(entries, (request.product, request.locale))
    if epoch is not None:
        raise _forgotten(
            (request.product, request.locale),
            epoch,
            "Until then nobody is charged and nothing is drawn.",
        )


def require_blocklist_again(release: "Release", blocklist: Path | None) -> None:
    """Refuse the same for a week that was paid for, until it is published: much may lie between.

    Of a list that devices are asked about it is decided what they are not shown. What was kept back
    before that, and has been left out there, needs nobody's word again.
    """
    reserved, state = release.reservation, release.state
    if reserved.place is None or blocklist is not None or state.has(Kind.PUBLISHED):
        return
    settled = state.find(Kind.LISTED)
    since = 0 if settled is None else settled.seq
    place = reserved.product, reserved.locale
    epoch = _kept_back(release.ledger.entries(), place, since, left_out(release))
    if epoch is not None:
        raise _forgotten(
            place,
            epoch,
            f"Release {release.release_id} was paid for and goes on with one for free; until then "
            "nothing more of it is drawn, taken or published.",
        )


def _forgotten(place: tuple[str, str], epoch: str, until_then: str) -> BadInput:
    return BadInput(
        f"epoch {epoch} of {'/'.join(place)} kept queries back by a blocklist, and names of a "
        "series come back by themselves: give --blocklist in every epoch (an empty file if nothing "
        f"is to be kept back any more). {until_then}"
    )


def _kept_back(
    entries: list[Entry],
    place: tuple[str, str],
    since: int = 0,
    known: frozenset[str] = frozenset(),
) -> str | None:
    """Return the last epoch of a product and locale that kept back more than what is known."""
    reserved = {e.key: e.said(Reserved) for e in entries if e.kind is Kind.RESERVED}
    lists = {k for k, r in reserved.items() if r.slot[::2] == place}
    blocking = [e for e in entries if e.seq > since and e.key in lists and _texts_of(e) - known]
    return reserved[blocking[-1].key].epoch if blocking else None


def _texts_of(row: Entry) -> frozenset[str]:
    if row.kind is Kind.LISTED:
        return frozenset(row.said(Listed).left_out)
    return frozenset(row.said(Publication).blocked if row.kind in PUBLICATIONS else ())


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
