"""Batches of rows in the order of a column, cut anew so that its equal values stay together."""

from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa

from tasks.log.failures import EngineFailed


def whole_groups(batches: Iterable[pa.RecordBatch], column: str) -> Iterator[pa.RecordBatch]:
    """Cut batches in the order of a column anew, so that its equal values stay together."""
    held: list[pa.RecordBatch] = []
    last = None
    for batch in batches:
        values = batch.column(column).to_numpy()
        if len(values) == 0:
            continue
        # A group in two pieces would be a person who gives twice what they may.
        if np.any(np.diff(values) < 0) or (last is not None and values[0] < last):
            raise EngineFailed(f"rows are not in the order of {column}; nothing was counted.")
        start = int(np.searchsorted(values, values[-1]))  # of a group that may go on
        if start > 0 or (last is not None and values[0] > last):
            yield pa.concat_batches([*held, batch[:start]])
            held = []
        held.append(batch[start:])
        last = values[-1]
    if held:
        yield pa.concat_batches(held)


def groups_of(batches: Iterable[pa.RecordBatch], column: str) -> Iterator[pa.RecordBatch]:
    """Cut batches that are sorted by a column anew, so that its equal values stay together."""
    import pyarrow.compute as pc  # whoever looks at the ledger reads no groups

    held: list[pa.RecordBatch] = []
    for batch in batches:
        if batch.num_rows == 0:
            continue
        values = batch.column(column)
        is_last = pc.fill_null(pc.equal(values, values[-1]), not values[-1].is_valid)
        start = pc.index(is_last, True).as_py()
        if start > 0 or (held and held[-1].column(column)[-1] != values[-1]):
            yield pa.concat_batches([*held, batch[:start]])
            held = []
        held.append(batch[start:])
    if held:
        yield pa.concat_batches(held)
