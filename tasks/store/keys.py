"""The curator's keys: made once, kept in the private zone, readable by its owner only.

Four keys for four purposes, so that giving one away (to rotate it, or to share a signature's
public half) never gives away another. The ledger knows each by a keyed fingerprint: with another
account key everybody would have a fresh budget.
"""

import hashlib
import hmac
import os
import secrets
from dataclasses import dataclass
from pathlib import Path

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from tasks.ledger.founding import found, founding
from tasks.ledger.ledger import Ledger
from tasks.ledger.rules import Kind
from tasks.ledger.witnesses import verified_head
from tasks.store.home import Home, write_whole
from tasks.verify.signatures import KEY_BYTES, KeyProblem

_OWNER_ONLY = 0o600
# HMAC pads its key to the hash's block (RFC 2104).
_BLOCK_BYTES = 64

_FINGERPRINT_CONTEXT = b"hybriddp key fingerprint v1\n"

# What each secret is for; losing `account` would forget what people have spent.
PURPOSES = {
    "account": "person -> account in the ledger; never rotated, back it up",
    "cohort": "who opts in by hash, who finds and who measures, which record is chosen",
    "release": "release ids and every digest that leaves the private zone",
}


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
        """Load the keys of a home; raise KeyProblem if one is missing or is not the ledger's."""
        keys = cls._load(home)
        keys._require_founded(home)
        return keys

    @classmethod
    def _load(cls, home: Home) -> "Keyring":
        secrets_ = {name: Secret(_read(home.keys / f"{name}.key")) for name in PURPOSES}
        signing = Ed25519PrivateKey.from_private_bytes(_read(home.keys / "signing.key"))
        return cls(**secrets_, signing=signing)

    @property
    def fingerprints(self) -> dict[str, str]:
        """What the ledger knows the keys by; nobody can make one without its key."""
        every = {name: getattr(self, name) for name in PURPOSES}
        printed = {
            name: key.digest(_FINGERPRINT_CONTEXT + name.encode()) for name, key in every.items()
        }
        return printed | {"signing": self.public_key.hex()}

    def _require_founded(self, home: Home) -> None:
        founded = founding(home)
        if founded is None:  # a ledger of 0.1.0, which is adopted before anything is written
            return
        known, own = founded.keys, self.fingerprints
        wrong = [name for name in own if not hmac.compare_digest(known[name], own[name])]
        if wrong:
            files = ", ".join(f"{name}.key" for name in wrong)
            raise KeyProblem(
                f"{files} in {home.keys} is not what this home's ledger was written with: it was "
                "changed or belongs to another home. Restore it from the backup; with another key "
                "nobody would know what people have spent."
            )

    @property
    def public_line(self) -> bytes:
        """What the public key's file holds."""
        return self.public_key.hex().encode() + b"\n"

    @property
    def public_key(self) -> bytes:
        """The 32 bytes that consumers and devices trust."""
        return self.signing.public_key().public_bytes(
            serialization.Encoding.Raw, serialization.PublicFormat.Raw
        )


def make_home(root: str | os.PathLike[str] | None = None) -> Home:
    """Make a home with its keys, on purpose; one that is there stays as it is."""
    home = Home.create(root)
    make_keys(home)
    return home


def make_keys(home: Home) -> bool:
    """Make every key of a new home and found its ledger; return False if it has them already.

    Keys are never made beside a ledger that was written with others: new account keys would
    give everybody a fresh budget. Whatever dies in between, the same call goes on.
    """
    # Asked first: rows that are there were written after all of the keys, whoever made them.
    is_in_use, names = _has_accounts(home), [*PURPOSES, "signing"]
    present = [name for name in names if (home.keys / f"{name}.key").exists()]
    is_new = len(present) < len(names)
    if is_new and is_in_use:
        missing = ", ".join(name for name in names if name not in present)
        raise KeyProblem(
            f"the keys {missing} are missing in {home.keys}, but a ledger is there; restore them "
            "from the backup. New ones would forget what people have spent."
        )
    if is_new:
        verified_head(home)  # measurements and publications of other keys are no new home
        for name in names:
            # Another process may be making keys as well, and have used one of them already.
            write_whole(
                home.keys / f"{name}.key",
                secrets.token_bytes(KEY_BYTES),
                mode=_OWNER_ONLY,
                keep_existing=True,
            )
    open_for_writing(home)
    return is_new


def open_for_writing(home: Home) -> Ledger:
    """Return the ledger, founded with this home's keys; every command that writes begins so."""
    keys = Keyring._load(home)
    if founding(home) is None:
        # Before the ledger is bound to them for ever: what consumers trust knows one of the keys.
        _require_public_half(home, keys)
    found(home, keys.fingerprints)
    write_public_key(home)
    return Ledger(home.ledger)


def _has_accounts(home: Home) -> bool:
    """Whether the ledger holds more than policies, which 0.1.0 let one set before all else."""
    if not home.ledger.exists():
        return False
    return any(entry.kind is not Kind.POLICY for entry in Ledger(home.ledger).entries())


def write_public_key(home: Home) -> Path:
    """Write the public half where consumers find it, and return its path.

    One that is there is what consumers trust: it is never replaced.
    """
    path, keys = _public_key_file(home), Keyring.open(home)
    if not path.exists():
        write_whole(path, keys.public_line)
    _require_public_half(home, keys)
    return path


def _public_key_file(home: Home) -> Path:
    return home.public / "signing.pub"


def _require_public_half(home: Home, keys: Keyring) -> None:
    path = _public_key_file(home)
    if path.exists() and path.read_bytes() != keys.public_line:
        raise KeyProblem(
            f"{path} is not the public half of {home.keys / 'signing.key'}, and consumers trust "
            "it: restore whichever was changed from the backup. It is not replaced."
        )


def _read(path: Path) -> bytes:
    try:
        key = path.read_bytes()
    except OSError:
        key = b""
    if len(key) != KEY_BYTES:
        raise KeyProblem(
            f"{path} must be a key of {KEY_BYTES} bytes; run `hybriddp keys init` for a new home, "
            "or restore it from the backup."
        )
    return key
