"""With which keys a ledger is written: said once, in its first row, and compared ever after.

The row holds keyed fingerprints, so nothing can be learnt from it by guessing, and no bit of a key
is in it. A ledger of 0.1.0 has no such row: it gets one before this version writes anything else.
"""

from collections.abc import Mapping
from datetime import datetime

from tasks.ledger.ledger import IllegalStep, Ledger, LedgerCorrupt, LedgerMoved, Recheck
from tasks.ledger.payloads import Founded
from tasks.ledger.rules import ABOUT_ACCOUNTS, ONCE_ATTEMPT, Entry, Kind
from tasks.ledger.witnesses import has_founding_witness, verified_head, write_founding_witness
from tasks.log.ids import NEWEST_FORM
from tasks.log.ids import id_form_of as form_of
from tasks.store.home import Home


def founding(home: Home) -> Founded | None:
    """Return what the founding row says; None if 0.1.0 made the ledger, or there is none yet."""
    row = _row(home)
    if row is None and has_founding_witness(home):
        raise LedgerCorrupt(
            f"{home.ledger} is missing or empty, and this home had a ledger: it has forgotten "
            "spending. Restore the private zone from its newest backup."
        )
    return None if row is None else row.said(Founded)


def id_form_of(home: Home) -> str:
    """Return the form in which this home's ledger takes ids."""
    if not home.ledger.exists():
        return NEWEST_FORM
    return form_of(Ledger(home.ledger).entries(Kind.FOUNDED, *ABOUT_ACCOUNTS))


def found(home: Home, fingerprints: Mapping[str, str]) -> None:
    """Put on record with which keys this ledger is written, unless that is done.

    Nothing but the keys themselves can tell whether they are those of a ledger of 0.1.0: they are
    trusted on first use, and the row says so.
    """
    while founding(home) is None:
        head = verified_head(home)  # a ledger that forgot must not begin anew
        payload = Founded(keys=dict(fingerprints), id_form=id_form_of(home), adopted=head.seq > 0)
        recheck = Recheck(head, ABOUT_ACCOUNTS, _refuse_rows)
        ledger = Ledger(home.ledger)
        try:
            ledger.append(Kind.FOUNDED, "", ONCE_ATTEMPT, payload, recheck=recheck)
        except (LedgerMoved, IllegalStep):  # by somebody else; whoever uses keys compares them
            continue
    row = _row(home)
    if row is not None:
        write_founding_witness(home, row)


def _row(home: Home) -> Entry | None:
    if not home.ledger.exists():
        return None
    return next(iter(Ledger(home.ledger).entries(Kind.FOUNDED)), None)


def _refuse_rows(rows: list[Entry], _date: datetime) -> None:
    if rows:
        raise LedgerMoved("accounts were named meanwhile; look again at how.")
