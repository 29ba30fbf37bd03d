"""When sums are sealed, and how: they save more reading than they cost.

For life: as soon as four participation files, with at least as many rows as the newest sums have
accounts, hold settled charges that no sums hold, one file takes their place and that of the sums
before. Every row of a participation file is so read and written once more, and for each such row
at most one account of older sums is: what sealing costs in all is linear in the people who were
ever charged. A check reads the sums, and fewer rows than they have accounts or three files.

With a window sums that reach back too far count for nothing. So four files at a time are sealed,
and two neighbours are sealed as one when the older holds less than twice as much as the newer, each
once in its life: a charge is written again for each doubling. All are kept, so whatever the window
cuts off, two files for each doubling hold the rest.
"""

from collections.abc import Mapping, Sequence
from functools import partial

from tasks.budget.policy import current_policy
from tasks.budget.spending import charge_of, counted_in, put_read
from tasks.budget.sums.covers import Charged, Counted, Reading, covers, reading_of, settled
from tasks.budget.sums.files import has_sums, seal, sums_file, sums_folder
from tasks.ledger.charges import Charge
from tasks.ledger.ledger import Ledger, LedgerCorrupt
from tasks.ledger.payloads import Reserved, Settled, Summed
from tasks.ledger.rules import Entry, Kind
from tasks.ledger.witnesses import verified_head
from tasks.log.engine import Engine, open_memory
from tasks.store.home import Home
from tasks.store.working_copies import remove

# Fewer are read as quickly as anything else.
LEAST_FILES = 4


def seal_sums(home: Home) -> None:
    """Seal sums of what was drawn if that is due.

    The file is durable before the row names it, and nobody reads it before. What a killed run left
    is removed by the next one; one at a time is at work.
    """
    verified_head(home)
    if due(home, Ledger(home.ledger).entries()) is None:
        return
    with home.locked("sums"):  # somebody else may do it meanwhile
        entries = Ledger(home.ledger).entries()
        while (reading := due(home, entries)) is not None:
            said = _seal(home, entries, reading)
            if said is None:
                return
            entries.append(Ledger(home.ledger).note(Kind.SUMMED, said))
            _remove_others(home, entries, reading)


def due(home: Home, entries: list[Entry]) -> Reading | None:
    """Return what to add up and seal now, if it is worth it."""
    starts = settled(entries)
    if not starts:
        return None
    policy = current_policy(entries)
    counted = counted_in(entries, policy, Ledger(home.ledger).moment())
    drawn = [(entry, group) for entry, group in counted if (entry.seq, group) in starts]
    reading = reading_of(entries, drawn, partial(has_sums, home))
    if policy.window_days is not None:
        return _of_a_window(entries, reading, starts)
    return reading if _is_enough(reading) and _pays(reading) else None


def _is_enough(reading: Reading) -> bool:
    return reading.n_participation_files >= LEAST_FILES


def _pays(reading: Reading) -> bool:
    """Whether as many rows are to be read as older sums have accounts."""
    return _n_people(reading.charges) >= sum(row.said(Summed).accounts for row in reading.sums)


def _of_a_window(
    entries: list[Entry], reading: Reading, starts: Mapping[Charged, int]
) -> Reading | None:
    """Return the first few files behind all sums, else two neighbours that are to be one."""
    held, by_seq = covers(entries), {entry.seq: entry for entry in entries}
    ends = {row.seq: max(starts[one] for one in held[row.seq]) for row in reading.sums}
    behind = _first_files(reading.charges, starts, max(ends.values(), default=0))
    if _is_enough(behind):
        return behind
    sealed_again = {
        part for entry in entries if entry.kind is Kind.SUMMED for part in entry.said(Summed).parts
    }
    tops = [row for row in reading.sums if row.seq not in sealed_again]
    newest = sorted(tops, key=lambda row: ends[row.seq])[-2:]
    sizes = [_n_people([(by_seq[seq], g) for seq, g in held[row.seq]]) for row in newest]
    are_alike = len(newest) == 2 and sizes[0] < 2 * sizes[1]
    return Reading(tuple(newest), []) if are_alike else None


def _first_files(charges: Counted, starts: Mapping[Charged, int], end: int) -> Reading:
    """Return the charges of the first few files behind a row, in the order of their draws."""
    files, chosen = set[str](), list[tuple[Entry, str]]()
    for entry, group in sorted(charges, key=lambda one: starts[one[0].seq, one[1]]):
        if starts[entry.seq, group] > end:
            files.add(entry.said(Reserved).participation)
            if len(files) > LEAST_FILES:
                break
            chosen.append((entry, group))
    return Reading((), chosen)


def _n_people(charges: Counted) -> int:
    """How many rows of participation files charges have; their reservations say so."""
    return sum(entry.said(Reserved).groups[group].members or 0 for entry, group in charges)


def _seal(home: Home, entries: list[Entry], reading: Reading) -> Summed | None:
    """Write the sums, read them again, and see that they add up to what the rows say."""
    with open_memory(home.spill) as engine:
        put_read(engine, home, reading)
        engine.step("ledger/sums_to_seal")
        added = [Settled(row=seq, groups=groups) for seq, groups in _by_row(reading.charges)]
        said = Summed(
            sums=seal(engine, "sums_to_seal", sums_folder(home)),
            accounts=engine.count("sums_to_seal"),
            parts=[row.seq for row in reading.sums],
            added=added,
        )
        return said if _adds_up(engine, home, entries, reading, said) else None


def _by_row(charges: Counted) -> list[tuple[int, list[str]]]:
    groups: dict[int, list[str]] = {}
    for entry, group in charges:
        groups.setdefault(entry.seq, []).append(group)
    return sorted(groups.items())


def _adds_up(
    engine: Engine, home: Home, entries: list[Entry], reading: Reading, said: Summed
) -> bool:
    """See that what lies on the disk adds up to all that was charged, member by member.

    The rows of the ledger say how many people paid how much, so a participation file that is
    forgotten, or counted twice, is seen. False: the sums are larger than what can be written.
    """
    engine.read_sealed("sealed_sums", [sums_folder(home) / f"{said.sums}.parquet"])
    engine.step("ledger/sums_in_all")
    [found] = engine.fetch("sums_in_all").to_pylist()
    if found["n_too_large"]:
        return False
    written = Charge(int(found["epsilon"]), int(found["delta"]), int(found["rho"]))
    held, by_seq = covers(entries), {entry.seq: entry for entry in entries}
    charges: Sequence[Charged] = [
        *((entry.seq, group) for entry, group in reading.charges),
        *(charge for row in reading.sums for charge in held[row.seq]),
    ]
    charged = Charge.sum(_of_everybody(by_seq[seq], group) for seq, group in charges)
    if (written, found["n_accounts"]) != (charged, said.accounts):
        raise LedgerCorrupt(
            "sums of participation files are not what the rows of the ledger charged, so nobody "
            "knows who has paid; run `hybriddp ledger verify`, and restore the private zone from "
            "its backup. Nobody was charged."
        )
    return True


def _of_everybody(entry: Entry, group: str) -> Charge:
    one, members = charge_of(entry, group), entry.said(Reserved).groups[group].members or 0
    return Charge(one.epsilon * members, one.delta * members, one.rho * members)


def _remove_others(home: Home, entries: list[Entry], reading: Reading) -> None:
    """Remove what killed runs left, and for life what the sums before the last ones were.

    The last ones stay: somebody may be reading them.
    """
    rows = [entry for entry in entries if entry.kind is Kind.SUMMED]
    kept = rows if current_policy(entries).window_days else [*reading.sums, rows[-1]]
    names = {sums_file(home, row) for row in kept}
    for path in sums_folder(home).iterdir():
        if path not in names:
            remove(path)
