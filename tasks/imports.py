"""Importing a large library without looking for garbage: nothing that it makes is any.

Python looks again whenever some hundreds of objects were made, and at all that there are every few
dozen times. For a library of hundreds of modules that is a sixth of the time that its import takes,
and later looks would go through all of it again.
"""

import atexit
import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager

# When Python ends, what was imported is garbage after all; libraries complain of what is left.
atexit.register(gc.unfreeze)


@contextmanager
def importing() -> Iterator[None]:
    """Let nobody look for garbage meanwhile, nor among what was imported later.

    Several threads may be here at once.
    """
    was_looking, n_modules = gc.isenabled(), len(sys.modules)
    gc.disable()
    try:
        yield
    finally:
        if len(sys.modules) > n_modules:
            gc.freeze()
        if was_looking:
            gc.enable()
