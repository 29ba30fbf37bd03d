"""What a check of a publication says, and how it fails."""

from dataclasses import dataclass
from pathlib import Path

from hybriddp.errors import HybridDPError


class VerificationFailed(HybridDPError):
    """A release is not what its publisher signed, or must not be used any more."""


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was checked, and passed."""

    name: str
    detail: str


def read_file(folder: Path, name: str) -> bytes:
    """Read one file of a release."""
    try:
        return (folder / name).read_bytes()
    except OSError:
        raise VerificationFailed(f"{name} is missing in {folder}.") from None
