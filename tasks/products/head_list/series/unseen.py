"""How many who joined a season are not in a week's log: measured as a cell of its own.

Without a roster, who joined in an earlier week stays, seen or not, but clients are only those whom
the log names. So what opted-in people searched is compared with what clients searched only after
those are taken out who cannot have searched. Their number is private, and one more coordinate of
the noisy shares: whoever is not in the log has all of their share there (docs/proofs/season.md).
"""

import pyarrow as pa

from hybriddp.errors import HybridDPError

UNSEEN = "(not in the log)"


def with_unseen(table: pa.Table, noisy: int) -> pa.Table:
    """Add what was measured of them to a week's table, in units of shares."""
    row = {"url": UNSEEN, "noisy_share": noisy}
    return pa.concat_tables([table, pa.Table.from_pylist([row], schema=table.schema)])


def without_unseen(table: pa.Table, n_people: int, share_units: int) -> tuple[pa.Table, int]:
    """Return what a week measured of searches, and how many people it knows them of.

    Where it was not measured everybody counts: clients who did not search are counted, too.
    """
    is_unseen = [url == UNSEEN for url in table["url"].to_pylist()]
    if not any(is_unseen):
        return table, n_people
    place = is_unseen.index(True)
    [row] = table.slice(place, 1).to_pylist()
    noisy = row.pop("noisy_share")
    row.pop("url")
    if sum(is_unseen) > 1 or noisy is None or any(value is not None for value in row.values()):
        raise HybridDPError("the measurement has other rows than a week of a season makes.")
    # Its noise is that of a record's share, and only a record's part of it reaches the record.
    n_seen = n_people - round(noisy / share_units)
    rest = pa.concat_tables([table.slice(0, place), table.slice(place + 1)])
    return rest, min(max(n_seen, 1), n_people)
