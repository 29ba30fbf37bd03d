"""What was left out of a head list, as auditors find it beside the measurements."""

import hashlib
from collections.abc import Collection
from itertools import compress

import pyarrow as pa

from hybriddp.device.package import canonical_json
from tasks.ledger.payloads import Listed
from tasks.ledger.rules import Attempt, Entry, Kind

# The name of the decision among the measurements of a manifest, and its file.
LISTED, LEFT_OUT_FILE = "listed", "left_out.json"


def file_of(row: Entry) -> bytes:
    """Return the file of a decision."""
    return canonical_json(row.said(Listed).model_dump(include={"left_out", "salt"}))


def decision_digests(state: Attempt) -> dict[str, str]:
    """Return the decision as a manifest names it, if one was made."""
    row = state.find(Kind.LISTED)
    return {LISTED: hashlib.sha256(file_of(row)).hexdigest()} if row else {}


def named_records(head_list_draw: pa.Table) -> pa.Table:
    """Return the records that S named; beside them may stand what was measured of <q,*>."""
    texts = zip(*(head_list_draw[name].to_pylist() for name in ("query", "url")), strict=True)
    return _rows(head_list_draw, [None not in text for text in texts])


def without(head_list_draw: pa.Table, queries: Collection[str]) -> pa.Table:
    """Return S's draw without the queries that are left out: their mass is on <*,*>."""
    kept = [query not in queries for query in head_list_draw["query"].to_pylist()]
    return _rows(head_list_draw, kept)


def _rows(table: pa.Table, is_kept: list[bool]) -> pa.Table:
    # Not by Arrow's own filter, which imports all that it can compute, and few rows are here.
    columns = {
        name: list(compress(table[name].to_pylist(), is_kept)) for name in table.column_names
    }
    return table if all(is_kept) else pa.table(columns, schema=table.schema)
