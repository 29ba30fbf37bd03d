"""What the other zones know of the ledger: a ledger that knows less was restored from a backup.

Whatever is drawn, decided or published leaves a file that names a place in the ledger's chain, or a
draw that must stand in it. Each of these files is a witness. They are written after their row, so a
ledger that is whole knows all of them, at any moment.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hybriddp.device.package import PACKAGE_FILE, canonical_json
from tasks.ledger.chain import Chain
from tasks.ledger.ledger import Head, Ledger, LedgerCorrupt
from tasks.ledger.rules import Entry, Kind
from tasks.products.registry import draws_shown_to_devices, group_of_file
from tasks.store.home import Home, write_whole

_STARTED = ".started.json"
# Rows beside draws that must not be forgotten: what nobody is to see, and what devices may not.
_DECISIONS = {Kind.LISTED: "list.settled.json", Kind.WITHHELD: "release.withheld.json"}
_COLLECTION = re.compile("(?P<release>[0-9a-f]{32})(?P<attempt>[0-9a-f]{4})?")
_RECORDED = (Kind.DRAW_STARTED, Kind.DRAWN, Kind.REVISED, Kind.WITHDRAWN)


@dataclass(frozen=True, slots=True)
class Claim:
    """What one file says that the ledger must hold: a head, or a row of one of some kinds."""

    file: Path
    head: Head | None = None
    kinds: tuple[Kind, ...] = ()
    release_id: str = ""
    attempt: int | None = None  # None: any
    draws: tuple[str, ...] = ()  # none: any

    def fits(self, entry: Entry) -> bool:
        """Whether a row is one that the file speaks of."""
        return (
            entry.kind in self.kinds
            and self.attempt in (None, entry.attempt)
            and (not self.draws or entry.draw in self.draws)
        )


@dataclass(slots=True)
class _Checked:
    """What this process has seen to be whole."""

    chain: Chain = field(default_factory=Chain)
    files: set[Path] = field(default_factory=set)


# A release asks several times; years of rows and files are read once in its process.
_CHECKED: dict[Path, _Checked] = {}


def verified_head(home: Home, *, anew: bool = False) -> Head:
    """Check the ledger's chain, and that no witness knows more than it; return its head.

    What this process has checked before is not read again, unless `anew`: only rows and files
    that are new, and that the ledger still goes on from where it was. Raises LedgerCorrupt.
    """
    ledger = Ledger(home.ledger)
    checked = _CHECKED.pop(home.ledger, None)
    if anew or checked is None or ledger.lacking([checked.chain.head]):
        checked = _Checked()
    # Files first: whoever writes one at this moment has written its row before.
    claims = [claim for read, file in _witnesses(home, checked.files) for claim in read(file)]
    ledger.extend(checked.chain)
    _require_known(ledger, claims)
    checked.files.update(claim.file for claim in claims)
    _CHECKED[home.ledger] = checked
    return checked.chain.head


def count_witnesses(home: Home) -> int:
    """Return how many files speak for the ledger."""
    return sum(1 for _ in _witnesses(home, set()))


def write_founding_witness(home: Home, row: Entry) -> None:
    """Note where the ledger was founded: one that was lost must not begin anew."""
    path = _founding_witness(home)
    if not path.exists():
        write_whole(path, _head_as_json(row), mode=0o600)


def write_witness(folder: Path, row: Entry) -> None:
    """Note durably, beside the measurements, that a draw starts or that something was decided.

    Of a draw it is written before any noise is drawn.
    """
    name = _DECISIONS.get(row.kind) or f"{row.draw}{_STARTED}"
    if not (folder / name).exists():
        write_whole(folder / name, _head_as_json(row))


def has_founding_witness(home: Home) -> bool:
    """Whether this home's ledger was founded, as far as anybody but the ledger knows."""
    return _founding_witness(home).exists()


def _founding_witness(home: Home) -> Path:
    return home.private / "founded.json"


def _head_as_json(row: Entry) -> bytes:
    head = {"seq": row.seq, "hash": row.hash}
    return canonical_json({"schema_version": 1, "ledger": head})


def _require_known(ledger: Ledger, claims: list[Claim]) -> None:
    heads = [claim.head for claim in claims if claim.head is not None]
    lost = set(ledger.lacking(heads))
    rows: dict[str, list[Entry]] = {}
    for entry in ledger.entries(*_RECORDED) if claims else ():
        rows.setdefault(entry.release_id, []).append(entry)
    for claim in claims:
        if claim.head in lost or (
            claim.head is None and not any(map(claim.fits, rows.get(claim.release_id, ())))
        ):
            raise LedgerCorrupt(
                f"{claim.file} speaks of something that the ledger does not know: the ledger was "
                "restored from a backup, or is another one, that has forgotten spending. Restore "
                "a newer one; until then nobody is charged and nothing is drawn."
            )


_Reader = Callable[[Path], Iterable[Claim]]


def _witnesses(home: Home, seen: set[Path]) -> Iterator[tuple[_Reader, Path]]:
    """Return every witness that was not seen, and how to read it."""
    kinds: tuple[tuple[_Reader, Iterable[Path]], ...] = (
        (_founding, [_founding_witness(home)]),
        (_manifest, home.public.glob("*/*/*/manifest.json")),
        (_withdrawal, home.public.glob("*/*/*/withdrawn.json")),
        (_withdrawal, (home.public / "collections").glob("*/withdrawn.json")),
        (_package, (home.public / "collections").glob(f"*/{PACKAGE_FILE}")),
        (_measurement, home.measurements.glob("*/*/*")),
    )
    for read, files in kinds:
        for file in files:
            is_named = not file.name.startswith(".") and not file.parent.name.startswith(".")
            if is_named and file not in seen and file.is_file():
                yield read, file


def _founding(file: Path) -> Iterator[Claim]:
    yield Claim(file, _head(_read(file), file))


def _manifest(file: Path) -> Iterator[Claim]:
    yield Claim(file, _head(_read(file), file))


def _withdrawal(file: Path) -> Iterator[Claim]:
    notice = _read(file)
    if "ledger" in notice:
        yield Claim(file, _head(notice, file))
    else:
        kinds = (Kind.WITHDRAWN, Kind.REVISED)
        yield Claim(file, kinds=kinds, release_id=str(notice.get("release_id")))


def _package(file: Path) -> Iterator[Claim]:
    package = _read(file)
    if "ledger" in package:
        yield Claim(file, _head(package, file))
        return
    # Up to schema 2: the id of a later attempt has its number behind the release's.
    found = _COLLECTION.fullmatch(file.parent.name)
    if found is not None:
        attempt = int(found["attempt"] or "1", 16)
        draws = draws_shown_to_devices()
        yield Claim(file, None, (Kind.DRAWN,), found["release"], attempt, draws)


def _measurement(file: Path) -> Iterator[Claim]:
    attempt, release_id = file.parent.name, file.parent.parent.name
    if not attempt.isdecimal():  # nothing that this program makes
        return
    group = group_of_file(file.name)
    # No group: a result of draws, so at least one was started.
    draws = () if group is None else (group.name,)
    if file.name.endswith(_STARTED):
        draws = (file.name.removesuffix(_STARTED),)
    if file.name.endswith(_STARTED) or file.name in _DECISIONS.values():
        yield Claim(file, _head(_read(file), file))
    yield Claim(file, None, (Kind.DRAW_STARTED,), release_id, int(attempt), draws)


def _read(file: Path) -> dict[str, Any]:
    try:
        content = json.loads(file.read_bytes())
    except (OSError, ValueError, RecursionError):
        content = None
    if not isinstance(content, dict):
        raise _unreadable(file)
    return content


def _head(content: dict[str, Any], file: Path) -> Head:
    match content.get("ledger"):
        case {"seq": int(seq), "hash": str(digest)} if 0 <= seq < 2**63:
            return Head(seq, digest)
    raise _unreadable(file)


def _unreadable(file: Path) -> LedgerCorrupt:
    return LedgerCorrupt(
        f"{file} is damaged, so nobody can tell whether the ledger has forgotten spending; restore "
        "it from a backup, or remove its folder if hybriddp did not make it."
    )
