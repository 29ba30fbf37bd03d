"""Read published releases: check one, complete what somebody types, say what rose and fell.

Python's standard library is all that it needs; `cryptography` checks signatures if it is there, and
`hybriddp.device.ed25519` if not.

The rest of `hybriddp` computes, and touches neither files nor clocks. This room reads files and
addresses by its nature, as `hybriddp.device` does. It lives here because whoever uses a list
installs the library alone, without the layers that make releases.

    from hybriddp.reader import open_release

    release = open_release("https://lists.example/search/all", key, cache=folder)
    release.lookup("wea")
"""

from hybriddp.reader.manifest import Guarantee, Manifest
from hybriddp.reader.opening import open_release
from hybriddp.reader.refusals import (
    REASONS,
    NotAuthentic,
    NotAvailable,
    NotCurrent,
    Reason,
    ReleaseRefused,
)
from hybriddp.reader.release import Completion, Release
from hybriddp.reader.rows import Change, Query, Record

__all__ = [
    "REASONS", "Change", "Completion", "Guarantee", "Manifest", "NotAuthentic", "NotAvailable",
    "NotCurrent", "Query", "Reason", "Record", "Release", "ReleaseRefused", "open_release",
]  # fmt: skip
