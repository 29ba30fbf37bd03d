"""Accounts: what the ledger knows people by."""

from tasks.ledger.rules import Entry, Kind
from tasks.log.ids import NEWEST_FORM, canonical
from tasks.store.keys import Keyring

ACCOUNT_BYTES = 16


def account_of(keys: Keyring, person: str, id_form: str = NEWEST_FORM) -> bytes:
    """Return a person's account, as `sql/log/accounts.sql` computes it, however the id is spelt.

    Args:
        id_form: The ledger's own form of ids, `id_form_of` its entries.
    """
    name = canonical(person, id_form).encode()
    return bytes.fromhex(keys.account.digest(name))[:ACCOUNT_BYTES]


def stopped_accounts(entries: list[Entry]) -> list[bytes]:
    """Return the accounts whose owners opted out or were erased, and did not come back."""
    newest = {
        entry.draw: entry.kind
        for entry in entries
        if entry.kind in (Kind.OPTED_OUT, Kind.OPTED_IN, Kind.ERASED)
    }
    return [bytes.fromhex(account) for account, kind in newest.items() if kind != Kind.OPTED_IN]
