"""Sealed sums, made again by whoever doubts them: from participation files alone."""

from tasks.budget.spending import put_read
from tasks.budget.sums.covers import Reading, covers
from tasks.budget.sums.files import file_digest, put_sums, sums_file
from tasks.ledger.chain import LedgerCorrupt
from tasks.ledger.payloads import Summed
from tasks.ledger.rules import Entry, Kind
from tasks.log.engine import open_memory
from tasks.store.home import Home


def require_exact_sums(home: Home, entries: list[Entry]) -> int:
    """See that every sealed file of sums is what participation files give; return how many are.

    Raises LedgerCorrupt. One that is missing is none: nothing rests on it.
    """
    held, by_seq = covers(entries), {entry.seq: entry for entry in entries}
    rows = [e for e in entries if e.kind is Kind.SUMMED and sums_file(home, e).exists()]
    for row in rows:
        _require_sealed(home, row)
        charges = [(by_seq[seq], group) for seq, group in sorted(held[row.seq])]
        with open_memory(home.spill) as engine:
            put_read(engine, home, Reading((), charges))
            put_sums(engine, home, [row])
            engine.step("ledger/differing_sums")
            n_differing = engine.fetch("differing_sums")["n_people"][0].as_py()
        if n_differing:
            raise LedgerCorrupt(
                f"the sums in {sums_file(home, row)}, of row {row.seq}, are not those of the "
                "participation files, so caps were checked against other spending since that row. "
                "Remove the file: sums are then made from participation files. Find out who wrote "
                "it before anything else is released."
            )
    return len(rows)


def _require_sealed(home: Home, row: Entry) -> None:
    file = sums_file(home, row)
    if file_digest(file) != row.said(Summed).sums:
        raise LedgerCorrupt(
            f"{file} is not what was sealed. No sum was made with it. Remove it: participation "
            "files say the same, and sums of them are sealed again when it pays."
        )
