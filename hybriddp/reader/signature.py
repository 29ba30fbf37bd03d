"""Whether bytes are what a publisher signed: the same verdict, whatever is installed."""

from hybriddp.device import ed25519
from hybriddp.errors import require

# What the publisher signs before the bytes, so that a signature means nothing anywhere else.
MANIFEST_CONTEXT = b"hybriddp release manifest v1\n"
NOTICE_CONTEXT = b"hybriddp withdrawal v1\n"


def public_key_of(key: bytes | str) -> bytes:
    """Return the bytes of a public key, which may be given as its 64 hexadecimal digits."""
    try:
        raw = bytes.fromhex(key.strip()) if isinstance(key, str) else bytes(memoryview(key))
    except (TypeError, ValueError):
        raw = b""
    require(
        ed25519.is_public_key(raw),
        "public_key must be an Ed25519 key: 32 bytes, or 64 hexadecimal digits",
        "something else",
        "get it again from the publisher",
    )
    return raw


def is_signed(public_key: bytes, message: bytes, signature: bytes) -> bool:
    """Whether the signature is this key's on this message.

    Args:
        public_key: One that `public_key_of` let through: of others libraries think differently.
    """
    try:  # on the first signature, not before: it takes as long to import as all of the reader
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    except ImportError:
        return ed25519.verify(public_key, message, signature)
    try:
        Ed25519PublicKey.from_public_bytes(public_key).verify(signature, message)
    except InvalidSignature:
        return False
    return True
