"""What nobody may do to a published file without being seen."""

from pathlib import Path

import pytest

from tasks.checks import VerificationFailed
from tasks.verify import verify_release


def require_every_change_to_be_seen(path: Path, key: bytes) -> None:
    """Change bytes at the ends and inside of a file and add one; leave it as it was."""
    data = path.read_bytes()
    changed = [
        data[:position] + bytes([data[position] ^ 1]) + data[position + 1 :]
        for position in {0, len(data) // 3, len(data) // 2, len(data) - 1}
    ]
    for spoilt in [*changed, data + b"\n"]:
        path.write_bytes(spoilt)
        with pytest.raises(VerificationFailed):
            verify_release(path.parent, key)
    path.write_bytes(data)
    verify_release(path.parent, key)
