"""Which charges a sealed file of sums holds, and which files may be read in place of charges.

A charge is settled when its draw has started. From then on it is never given back (a reservation
can be voided before its first draw only), and its date is that of a row which stands. Only settled
charges are sealed.

What people have spent is a sum over charges, and which charges count is always decided on the
ledger's rows. A sealed file stands in for charges that count, all of it or none of it, and for none
twice: whole numbers may be added up in any order, so the sum is the same to the last unit. Whatever
takes a charge out of the sums (a void, a window) takes every file out that holds it.
docs/adr/0021 says more.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from tasks.ledger.chain import LedgerCorrupt
from tasks.ledger.payloads import Reserved, Summed
from tasks.ledger.rules import Entry, Kind

# The row of a reservation, and a group of it.
Charged = tuple[int, str]
Counted = Sequence[tuple[Entry, str]]


@dataclass(frozen=True, slots=True)
class Reading:
    """What is read to add charges up: sealed sums, and groups of participation files."""

    sums: tuple[Entry, ...]
    charges: Counted

    @property
    def n_participation_files(self) -> int:
        """How many participation files are read."""
        return len({entry.said(Reserved).participation for entry, _ in self.charges})


def settled(entries: Iterable[Entry]) -> dict[Charged, int]:
    """Return the charges whose draws have started, and the row that says so."""
    reserved: dict[tuple[str, int], int] = {}
    found: dict[Charged, int] = {}
    for entry in entries:
        if entry.kind is Kind.RESERVED:
            reserved[entry.key] = entry.seq
        elif entry.kind is Kind.DRAW_STARTED and entry.key in reserved:
            found[reserved[entry.key], entry.draw] = entry.seq
    return found


def covers(entries: Collection[Entry]) -> Mapping[int, frozenset[Charged]]:
    """Return which charges each sealed file holds, by its row; raise LedgerCorrupt.

    A file holds only charges that were settled in front of its row, and each of them once.
    """
    known, starts = dict[int, frozenset[Charged]](), settled(entries)
    for entry in entries:
        if entry.kind is not Kind.SUMMED:
            continue
        said = entry.said(Summed)
        named = [(row.row, group) for row in said.added for group in row.groups]
        if any(starts.get(charge, entry.seq) >= entry.seq for charge in named) or any(
            part not in known for part in said.parts
        ):
            raise _nonsense(entry)
        for part in said.parts:
            named.extend(known[part])
        known[entry.seq] = frozenset(named)
        if len(known[entry.seq]) != len(named):
            raise _nonsense(entry)
    return known


def _nonsense(entry: Entry) -> LedgerCorrupt:
    return LedgerCorrupt(
        f"row {entry.seq} of the ledger speaks of sums that hold a charge twice, or one that was "
        "not drawn; the ledger was not written by this program. Restore its newest backup."
    )


def reading_of(
    entries: Collection[Entry], counted: Counted, is_whole: Callable[[Entry], bool]
) -> Reading:
    """Choose what to read for these charges: the largest sums that hold nothing else.

    Args:
        is_whole: Whether the sealed file of a row is there, and is what was sealed.
    """
    rows = {entry.seq: entry for entry in entries if entry.kind is Kind.SUMMED}
    if not rows:
        return Reading((), counted)
    left, chosen = {(entry.seq, group) for entry, group in counted}, list[Entry]()
    held = covers(entries)
    for seq in sorted(held, key=lambda seq: (len(held[seq]), seq), reverse=True):
        if held[seq] and held[seq] <= left and is_whole(rows[seq]):
            chosen.append(rows[seq])
            left -= held[seq]
    rest = [(entry, group) for entry, group in counted if (entry.seq, group) in left]
    return Reading(tuple(sorted(chosen, key=lambda row: row.seq)), rest)
