"""The curator's keys: made once, kept in the private zone, readable by its owner only.

Four keys for four purposes, so that giving one away (to rotate it, or to share a signature's
public half) never gives away another.
"""

import hashlib
import hmac
import secrets
from dataclasses import dataclass
from pathlib import Path

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from hybriddp.errors import HybridDPError
from tasks.home import Home, write_whole
from tasks.ledger import Ledger
from tasks.ledger_rules import Kind
from tasks.reading import Unreadable, read_file

_OWNER_ONLY = 0o600
_N_BYTES = 32
_MAX_KEY_FILE_BYTES = 1_000
# HMAC pads its key to the hash's block (RFC 2104).
_BLOCK_BYTES = 64

# What each secret is for; losing `account` would forget what people have spent.
PURPOSES = {
    "account": "person -> account in the ledger; never rotated, back it up",
    "cohort": "who opts in by hash, who finds and who measures, which record is chosen",
    "release": "release ids and every digest that leaves the private zone",
}


class KeyProblem(HybridDPError):
    """A key is missing or is not a key."""


@dataclass(frozen=True, slots=True, repr=False)
class Secret:
    """A key for HMAC-SHA256; it is never printed."""

    _key: bytes

    def digest(self, message: bytes) -> str:
        """Return the keyed digest of a message, as 64 hexadecimal digits."""
        return hmac.new(self._key, message, hashlib.sha256).hexdigest()

    def pads(self) -> tuple[bytes, bytes]:
        """Return HMAC's inner and outer block, for engines that have only a plain SHA-256."""
        block = self._key.ljust(_BLOCK_BYTES, b"\0")
        return bytes(b ^ 0x36 for b in block), bytes(b ^ 0x5C for b in block)


@dataclass(frozen=True, slots=True, repr=False)
class Keyring:
    """All keys of one home."""

    account: Secret
    cohort: Secret
    release: Secret
    signing: Ed25519PrivateKey

    @classmethod
    def open(cls, home: Home) -> "Keyring":
        """Load the keys of a home; raise KeyProblem if one is missing."""
        secrets_ = {name: Secret(_read(home.keys / f"{name}.key")) for name in PURPOSES}
        signing = Ed25519PrivateKey.from_private_bytes(_read(home.keys / "signing.key"))
        return cls(**secrets_, signing=signing)

    @property
    def public_key(self) -> bytes:
        """The 32 bytes that consumers and devices trust."""
        return self.signing.public_key().public_bytes(
            serialization.Encoding.Raw, serialization.PublicFormat.Raw
        )


def make_keys(home: Home) -> bool:
    """Make every key of a new home; return False if it has them already.

    Keys are never made beside a ledger that was written with others: new account keys would
    give everybody a fresh budget.
    """
    # Asked first: rows that are there were written after all of the keys, whoever made them.
    is_in_use, names = _has_accounts(home), [*PURPOSES, "signing"]
    present = [name for name in names if (home.keys / f"{name}.key").exists()]
    if len(present) == len(names):
        write_public_key(home)
        return False
    if is_in_use:
        missing = ", ".join(name for name in names if name not in present)
        raise KeyProblem(
            f"the keys {missing} are missing in {home.keys}, but a ledger is there; restore them "
            "from the backup. New ones would forget what people have spent."
        )
    for name in names:
        # Another process may be making keys as well, and have used one of them already.
        write_whole(
            home.keys / f"{name}.key",
            secrets.token_bytes(_N_BYTES),
            mode=_OWNER_ONLY,
            keep_existing=True,
        )
    write_public_key(home)
    return True


def _has_accounts(home: Home) -> bool:
    """Whether the ledger holds more than policies, which an operator may set before all else."""
    if not home.ledger.exists():
        return False
    return any(entry.kind is not Kind.POLICY for entry in Ledger(home.ledger).entries())


def write_public_key(home: Home) -> Path:
    """Write the public half where consumers find it, and return its path."""
    path = home.public / "signing.pub"
    line = Keyring.open(home).public_key.hex().encode() + b"\n"
    if not path.exists() or path.read_bytes() != line:
        write_whole(path, line)
    return path


def read_public_key(path: Path) -> bytes:
    """Read a public key file: 64 hexadecimal digits."""
    try:
        text = read_file(path.parent, path.name, _MAX_KEY_FILE_BYTES).decode("ascii")
        key = bytes.fromhex(text.strip())
    except (Unreadable, ValueError):
        key = b""
    if len(key) != _N_BYTES:
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


def _read(path: Path) -> bytes:
    try:
        key = path.read_bytes()
    except OSError:
        key = b""
    if len(key) != _N_BYTES:
        raise KeyProblem(
            f"{path} must be a key of {_N_BYTES} bytes; run `hybriddp keys init` for a new home, "
            "or restore it from the backup."
        )
    return key
