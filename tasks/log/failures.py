"""What an engine's failures become: its own messages quote rows, so none of them is passed on."""

from collections.abc import Iterator
from contextlib import contextmanager

import duckdb

from hybriddp.errors import HybridDPError
from tasks.store.machine import machine_fault_in
from tasks.store.memory import VARIABLE


class EngineFailed(HybridDPError):
    """A step of SQL failed; engines quote rows in their errors, so the reason is its class only."""


class OutOfSpace(EngineFailed):
    """A step needs more memory, disk or open files than there are; the data is not to blame."""


class EngineLost(EngineFailed):
    """The machines that a step ran on are gone; neither the data nor its reader is to blame."""


@contextmanager
def silent(step: str) -> Iterator[None]:
    """Turn an engine's error into one that quotes nothing."""
    try:
        yield
    except duckdb.InterruptException:
        raise KeyboardInterrupt from None
    except duckdb.OutOfMemoryException:
        raise OutOfSpace(
            f"step {step} ran out of memory or disk: free some space, or raise {VARIABLE} (see "
            "`hybriddp doctor`)."
        ) from None
    except duckdb.Error as error:
        fault = machine_fault_in(str(error)) if isinstance(error, duckdb.IOException) else None
        if fault is not None:
            raise OutOfSpace(f"step {step}: {fault}") from None
        raise EngineFailed(
            f"step {step} failed in DuckDB ({type(error).__name__}); its message may quote the log "
            "and is not shown. Run `hybriddp doctor`, then look at the log with DuckDB yourself."
        ) from None
