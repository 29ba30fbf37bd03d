"""Everything that can be checked about a ledger at once, for `ledger verify` and `doctor`."""

from dataclasses import dataclass

from tasks.budget.sums.files import sealed_file
from tasks.budget.sums.recount import require_exact_sums
from tasks.ledger.founding import founding
from tasks.ledger.ledger import Head, Ledger
from tasks.ledger.payloads import Reserved
from tasks.ledger.rules import live_reservations
from tasks.ledger.witnesses import count_witnesses, verified_head
from tasks.store.home import Home
from tasks.store.keys import Keyring


@dataclass(frozen=True, slots=True)
class Checked:
    """What was found whole."""

    head: Head
    keys: str
    n_witnesses: int
    n_participation_files: int
    n_sums: int


def check_ledger(home: Home) -> Checked:
    """Check chain, witnesses, keys, and every participation file that counts, and sums of them.

    Raises LedgerCorrupt or KeyProblem.
    """
    head = verified_head(home, anew=True)
    Keyring.open(home)
    entries = Ledger(home.ledger).entries()
    reservations = live_reservations(entries)
    digests = {entry.said(Reserved).participation for entry in reservations}
    for digest in sorted(digests):
        sealed_file(home, digest)
    n_sums = require_exact_sums(home, entries)
    return Checked(head, _keys(home), count_witnesses(home), len(digests), n_sums)


def _keys(home: Home) -> str:
    """Say how far the keys are known to be those of the ledger."""
    founded = founding(home)
    if founded is None:
        return "of version 0.1.0, which does not say with which keys"
    if founded.adopted:
        return "and its keys are those that were there when version 0.2 adopted it"
    return "written with this home's keys"
