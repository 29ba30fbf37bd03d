"""What the operating system refuses because of the machine, not of what somebody gave it."""

import errno
import os

from hybriddp.errors import HybridDPError

# Where the system's words for one begin those for another, the longer ones come first.
_FAULTS = {
    errno.ENOSPC: "no space is left on the disk; free some",
    errno.EDQUOT: "the quota of this user's disk is used up; free some space",
    errno.EFBIG: "a file would become larger than this process may write; raise `ulimit -f`",
    errno.ENFILE: "too many files are open on this machine; end other programs",
    errno.EMFILE: "too many files are open in this process; raise `ulimit -n`",
    errno.EIO: "the disk fails to read or write; look at the machine's own log",
}
_NOT_THE_LOG = "then run the same command again. The log is not to blame."


class MachineFailed(HybridDPError):
    """The machine refused what a step needs; what it was given is not to blame."""


def machine_fault(error: OSError) -> str | None:
    """Say what the machine lacks and what to do, if that is why a system call failed."""
    words = _FAULTS.get(error.errno or 0)
    if words is None:
        return None
    where = f"{error.filename}: " if error.filename is not None else ""
    return f"{where}{words}, {_NOT_THE_LOG}"


def machine_fault_in(text: str) -> str | None:
    """Say the same of a library's error, which passes on the operating system's words alone."""
    found = (words for code, words in _FAULTS.items() if os.strerror(code) in text)
    words = next(found, None)
    return None if words is None else f"{words}, {_NOT_THE_LOG}"
