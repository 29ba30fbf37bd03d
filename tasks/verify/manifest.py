"""The signed manifest of a release: what it is, what it promises, and the hash of every file."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from importlib.metadata import version
from typing import Any

from hybriddp.device.package import canonical_json
from tasks.ledger.payloads import Publication, Terms

SIGNING_CONTEXT = b"hybriddp release manifest v1\n"
SIGNATURE_BYTES = 64

# The fixed texts of every group's guarantee.
Words = Mapping[str, Mapping[str, str]]
NEIGHBOURS = "one person's data replaced by any other; the set of people is the same"


def code_version() -> str:
    """Return the version of this program."""
    return version("hybriddp")


def expiry_of(publication: Publication) -> str:
    """Return until when a publication is valid, from what the ledger says of it."""
    created = datetime.fromisoformat(publication.created)
    expires = created + timedelta(days=publication.settings["valid_days"])
    return expires.isoformat(timespec="seconds")


def words_of(roles: Mapping[str, str], trusts: Mapping[str, str]) -> Words:
    """Return what is said of each group's promise, whatever the release."""
    return {
        group: {"role": role, "trusts": trusts[group], "neighbours": NEIGHBOURS}
        for group, role in roles.items()
    }


def guarantees_of(groups: Mapping[str, Terms], words: Words) -> dict[str, Any]:
    """Return what each group was promised, as the ledger charged it."""
    return {
        group: {
            **words[group],
            "people": terms.members,
            "epsilon_nano": terms.epsilon_nano,
            "delta_atto": terms.delta_atto,
        }
        for group, terms in groups.items()
    }


def manifest_bytes(manifest: Mapping[str, Any]) -> bytes:
    """Return the one spelling of a manifest."""
    return canonical_json(manifest)


def signed_bytes(data: bytes) -> bytes:
    """Return what the signature is made on: a signature here means nothing anywhere else."""
    return SIGNING_CONTEXT + data
