"""What was left out of a head list, as auditors find it beside the measurements."""

from collections.abc import Collection

import pyarrow as pa

# The name of the decision among the measurements of a manifest, and its file.
LISTED, LEFT_OUT_FILE = "listed", "left_out.json"


def without(head_list_draw: pa.Table, queries: Collection[str]) -> pa.Table:
    """Return S's draw without the queries that are left out: their mass is on <*,*>."""
    kept = [query not in queries for query in head_list_draw["query"].to_pylist()]
    return head_list_draw.filter(pa.array(kept, pa.bool_()))
