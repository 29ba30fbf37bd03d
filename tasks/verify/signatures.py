"""Public keys and what they signed: all that a consumer needs, who has no home."""

from pathlib import Path

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from hybriddp.errors import HybridDPError
from tasks.store.reading import Unreadable, read_file

KEY_BYTES = 32
_MAX_KEY_FILE_BYTES = 1_000


class KeyProblem(HybridDPError):
    """A key is missing or is not a key."""


def read_public_key(path: Path) -> bytes:
    """Read a public key file: 64 hexadecimal digits."""
    try:
        text = read_file(path.parent, path.name, _MAX_KEY_FILE_BYTES).decode("ascii")
        key = bytes.fromhex(text.strip())
    except (Unreadable, ValueError):
        key = b""
    if len(key) != KEY_BYTES:
        raise KeyProblem(
            f"{path} must hold a public key of 64 hexadecimal digits; "
            "get it again from the publisher."
        )
    return key


def is_signed(public_key: bytes, message: bytes, signature: bytes) -> bool:
    """Whether the signature is this key's on this message."""
    try:
        Ed25519PublicKey.from_public_bytes(public_key).verify(signature, message)
    except (InvalidSignature, ValueError):
        return False
    return True
