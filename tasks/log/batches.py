"""Batches of rows in which nobody's rows are torn apart."""

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
