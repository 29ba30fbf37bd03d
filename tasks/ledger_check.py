"""Everything that can be checked about a ledger at once, for `ledger verify` and `doctor`."""

from dataclasses import dataclass

from tasks.home import Home
from tasks.keys import Keyring
from tasks.ledger import Head, Ledger
from tasks.ledger_rules import Kind
from tasks.run import live_reservations
from tasks.spending import sealed_file
from tasks.witnesses import count_witnesses, verified_head


@dataclass(frozen=True, slots=True)
class Checked:
    """What was found whole."""

    head: Head
    n_witnesses: int
    n_participation_files: int


def check_ledger(home: Home) -> Checked:
    """Check chain, witnesses, keys, and every participation file that counts.

    Raises LedgerCorrupt or KeyProblem.
    """
    head = verified_head(home, anew=True)
    Keyring.open(home)
    reservations = live_reservations(Ledger(home.ledger).entries(Kind.RESERVED, Kind.VOIDED))
    digests = {entry.payload["participation"] for entry in reservations}
    for digest in sorted(digests):
        sealed_file(home, digest)
    return Checked(head, count_witnesses(home), len(digests))
