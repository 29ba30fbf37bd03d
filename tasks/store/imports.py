"""Importing a large library without looking for garbage: nothing that it makes is any.

Python looks again whenever some hundreds of objects were made; for a library of hundreds of modules
that is a sixth of the time that its import takes.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def importing() -> Iterator[None]:
    """Let nobody look for garbage meanwhile; several threads may be here at once."""
    was_looking = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_looking:
            gc.enable()
