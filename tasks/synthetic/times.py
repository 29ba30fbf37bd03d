"""Put the times of synthetic users into an epoch, however long it is."""

from datetime import UTC

import numpy as np

from hybriddp.arrays import IntArray
from hybriddp.studies.synthetic.sessions import SPAN_SECONDS
from hybriddp.zealous.items import SESSION_GAP_SECONDS
from tasks.log.epochs import Epoch

# A pause of this many seconds ends a session.
_LONG_PAUSE = SESSION_GAP_SECONDS + 1


def _start_and_length(epoch: Epoch) -> tuple[int, int]:
    start, end = (int(moment.replace(tzinfo=UTC).timestamp()) for moment in epoch.period)
    return start, end - start


def scale(seconds: IntArray, span: int, epoch: Epoch) -> IntArray:
    """Return seconds since 1970 in the epoch, for seconds since the start of a span."""
    start, length = _start_and_length(epoch)
    return start + seconds * length // span


def fit_sessions(users: IntArray, seconds: IntArray, epoch: Epoch) -> IntArray:
    """Return seconds since 1970 in the epoch, for a month's searches in the order of their users.

    Sessions stay what they are: only pauses between them get shorter. Who has more sessions than
    the epoch can hold searches faster.
    """
    start, length = _start_and_length(epoch)
    is_first = np.diff(users, prepend=-1) != 0
    person = np.cumsum(is_first) - 1
    pauses = np.where(is_first, seconds, np.diff(seconds, prepend=0))
    kept = np.where(is_first, 0, np.minimum(pauses, _LONG_PAUSE))
    rest = pauses - kept
    needed = np.bincount(person, kept)
    spare = np.maximum(length - 1 - needed, 0) / np.maximum(np.bincount(person, rest), 1)
    shrunk = np.floor(rest * np.minimum(spare, min(1.0, length / SPAN_SECONDS))[person])
    elapsed = np.cumsum(kept + shrunk.astype(np.int64))
    before = np.maximum.accumulate(np.where(is_first, elapsed - kept - shrunk, 0))
    inside: IntArray = (elapsed - before).astype(np.int64)
    haste = np.minimum(1.0, (length - 1) / np.maximum(needed, 1))[person]
    times: IntArray = start + np.floor(inside * haste).astype(np.int64)
    return times
