"""Why a reader refuses a release: the exceptions, and one stable word for each reason.

ReleaseRefused (a hybriddp.errors.HybridDPError)
├── NotAuthentic   it is not what its publisher signed, or is nothing that a publisher signs
├── NotCurrent     it was the publisher's, and must not be used any more
└── NotAvailable   it could not be had; what was kept of it may still be used
"""

from collections.abc import Mapping
from enum import StrEnum

from hybriddp.errors import HybridDPError


class Reason(StrEnum):
    """The word that a reader in any language gives for a refusal; words are never re-meant."""

    BAD_SIGNATURE = "bad-signature"
    MALFORMED = "malformed"
    MIXED_UP = "mixed-up"
    NOT_A_FILE = "not-a-file"
    NOT_A_LIST = "not-a-list"
    TOO_LARGE = "too-large"
    WRONG_HASH = "wrong-hash"
    WRONG_SIZE = "wrong-size"
    EXPIRED = "expired"
    ROLLED_BACK = "rolled-back"
    WITHDRAWN = "withdrawn"
    MISSING = "missing"
    NO_CACHE = "no-cache"
    REDIRECTED = "redirected"
    TIMED_OUT = "timed-out"
    UNREACHABLE = "unreachable"


class ReleaseRefused(HybridDPError):
    """A release is not given out; `reason` is one word, `file` the file at fault, if it is one."""

    def __init__(self, reason: Reason, message: str, file: str | None = None) -> None:
        super().__init__(message)
        self.reason = reason
        self.file = file


class NotAuthentic(ReleaseRefused):
    """A release is not what its publisher signed, or is nothing that a publisher signs."""


class NotCurrent(ReleaseRefused):
    """A release was its publisher's, and must not be used any more."""


class NotAvailable(ReleaseRefused):
    """A release could not be had; what was kept of it may still be used."""


# Each word's kind, and what it means. docs/reader.md shows this table to writers of other readers.
REASONS: Mapping[Reason, tuple[type[ReleaseRefused], str]] = {
    Reason.BAD_SIGNATURE: (
        NotAuthentic,
        "The manifest, or a notice of withdrawal, is not what the publisher's key signed.",
    ),
    Reason.MALFORMED: (
        NotAuthentic,
        "A file says what no file of its kind says, or what a later version of hybriddp wrote.",
    ),
    Reason.MIXED_UP: (
        NotAuthentic,
        "Each part may be genuine, but they do not belong together, or not to this place.",
    ),
    Reason.NOT_A_FILE: (
        NotAuthentic,
        "In a file's or a release's place is a link, a folder, a pipe or a device.",
    ),
    Reason.NOT_A_LIST: (
        NotAuthentic,
        "It is a signed release of another kind, which has no queries to look up.",
    ),
    Reason.TOO_LARGE: (
        NotAuthentic,
        "A file is larger than such a file may be, whoever signed it.",
    ),
    Reason.WRONG_HASH: (
        NotAuthentic,
        "A file has as many bytes as were signed, and they are others.",
    ),
    Reason.WRONG_SIZE: (
        NotAuthentic,
        "A file has fewer or more bytes than were signed.",
    ),
    Reason.EXPIRED: (
        NotCurrent,
        "The date until which its publisher stands for it has passed.",
    ),
    Reason.ROLLED_BACK: (
        NotCurrent,
        "An older release is offered than the reader saw before, or was told to ask for.",
    ),
    Reason.WITHDRAWN: (
        NotCurrent,
        "Its publisher took it back, and signed that.",
    ),
    Reason.MISSING: (
        NotAvailable,
        "A file of the release, or the release, is not there.",
    ),
    Reason.NO_CACHE: (
        NotAvailable,
        "The folder in which the reader is to remember what it saw cannot be used.",
    ),
    Reason.REDIRECTED: (
        NotAvailable,
        "The server leads elsewhere; a reader goes nowhere but where it was sent.",
    ),
    Reason.TIMED_OUT: (
        NotAvailable,
        "The server did not give a file in time.",
    ),
    Reason.UNREACHABLE: (
        NotAvailable,
        "The server cannot be reached, fails, or breaks off.",
    ),
}


def refused(reason: Reason, message: str, file: str | None = None) -> ReleaseRefused:
    """Return the exception of a reason, to be raised."""
    kind, _ = REASONS[reason]
    return kind(reason, message, file)
