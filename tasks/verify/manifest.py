"""The signed manifest of a release: what it is, what it promises, and the hash of every file.

It is read once, at the door, into the model of its product; behind it nobody looks into a mapping.
"""

import hashlib
from collections.abc import Mapping
from datetime import datetime, timedelta
from functools import cache
from importlib.metadata import version
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict

from hybriddp.device.package import canonical_json
from tasks.ledger.charges import Charge
from tasks.ledger.payloads import Cap, Publication, Terms
from tasks.products.parameters import MeasurementParameters
from tasks.store.reading import is_plain_name
from tasks.verify import form
from tasks.verify.form import MOST, fields, fitting, keyed, maybe, one_of, text, whole

SIGNING_CONTEXT = b"hybriddp release manifest v1\n"
SIGNATURE_BYTES = 64
# The manifests of version 0.1.0, and those since.
FIRST_SCHEMA, SCHEMA_VERSION = 2, 3

# The fixed texts of every group's guarantee.
Words = Mapping[str, Mapping[str, str]]
NEIGHBOURS = "one person's data replaced by any other; the set of people is the same"

Name = Annotated[str, fitting(form.name)]
Size = Annotated[int, fitting(form.size)]
Decimals = Annotated[int, fitting(whole(0, 12))]
Moment = Annotated[str, fitting(form.moment)]
Noise = Annotated[dict[str, str], fitting(keyed(form.name, form.short, 10))]
_UNITS = whole(0, MOST)


class Part(BaseModel):
    """A part of a manifest, with exactly these fields."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid", defer_build=True)


class SignedFile(Part):
    """One published file."""

    bytes: int
    sha256: str


class Place(Part):
    """A place in the ledger's chain."""

    seq: int
    hash: str


class StatedCap(Cap):
    """The cap that a label states; what a later version says beside it is not computed with."""

    model_config = ConfigDict(extra="allow")


class Guarantee(Part):
    """What a group was promised: how many people, what each pays, and the same in words."""

    model_config = ConfigDict(extra="allow")

    people: int
    epsilon_nano: int
    delta_atto: int
    rho_pico: int = 0  # only where there is a Gaussian loss
    role: str
    trusts: str
    neighbours: str

    @property
    def words(self) -> dict[str, Any]:
        """What is no number; what a later version adds is seen, too."""
        return self.model_dump(exclude={"people", "epsilon_nano", "delta_atto", "rho_pico"})

    @property
    def terms(self) -> Terms:
        """What the ledger said of the group."""
        return Charge(self.epsilon_nano, self.delta_atto, self.rho_pico).terms(self.people)


_CAP = fields(
    {
        "cap_epsilon_nano": whole(1, MOST),
        "cap_delta_atto": _UNITS,
        "window_days": maybe(whole(1, 36_525)),
    },
    form.scalar,
)
_LEDGER = fields({"seq": whole(1, 10**15), "hash": form.digest})
_FILE = fields({"bytes": form.size, "sha256": form.digest})
_PAID = {"people": form.size, "epsilon_nano": _UNITS, "delta_atto": _UNITS}
_GAUSSIAN = fields({**_PAID, "rho_pico": whole(1, MOST)}, form.short)
_PURE = fields(_PAID, form.short)
_GUARANTEE: form.Form = lambda value: _PURE(value) or _GAUSSIAN(value)  # noqa: E731 - as in form


class Manifest(Part):
    """What every manifest says; a product adds its own fields, and reads its parameters."""

    schema_version: Annotated[int, fitting(one_of(FIRST_SCHEMA, SCHEMA_VERSION))]
    product: Name
    locale: Name
    epoch: Name
    release_id: Annotated[str, fitting(text(r"[0-9a-f]{16,128}"))]
    attempt: Annotated[int, fitting(whole(1, 10**6))]
    revision: Annotated[int, fitting(whole(1, 10**6))]
    sequence: Annotated[int, fitting(whole(1, 10**15))]
    previous: Annotated[str | None, fitting(maybe(form.name))]
    created: Moment
    expires: Moment
    code_version: Name
    parameters: MeasurementParameters
    cap: Annotated[StatedCap, fitting(_CAP)]
    measurements: Annotated[dict[str, str], fitting(keyed(form.name, form.digest, 20))]
    ledger: Annotated[Place, fitting(_LEDGER)]
    files: Annotated[dict[str, SignedFile], fitting(keyed(is_plain_name, _FILE, 40))]
    guarantees: Annotated[dict[str, Guarantee], fitting(keyed(form.name, _GUARANTEE, 20))]
    rows: Annotated[dict[str, int], fitting(form.counted)]

    @property
    def n_blocked(self) -> int:
        """How many texts a blocklist left out; a product without texts has none."""
        return 0


class _SeenPlace(BaseModel):
    model_config = ConfigDict(frozen=True, strict=True, extra="ignore", defer_build=True)

    seq: int
    hash: str


class Sighting(BaseModel):
    """What of a manifest is read in our own public zone, whichever version or product wrote it."""

    model_config = ConfigDict(frozen=True, strict=True, extra="ignore", defer_build=True)

    release_id: str
    revision: int
    ledger: _SeenPlace
    cap: Any = None  # only who asks what was promised reads it

    @property
    def stated_cap(self) -> StatedCap:
        """The cap that its label states; raise ValueError if it states none that is known."""
        if not _CAP(self.cap):
            raise ValueError("the manifest states no cap that this version knows")
        return StatedCap.model_validate(self.cap)


@cache
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
            **({"rho_pico": terms.rho_pico} if terms.rho_pico else {}),
        }
        for group, terms in groups.items()
    }


def manifest_bytes(manifest: Mapping[str, Any]) -> bytes:
    """Return the one spelling of a manifest."""
    return canonical_json(manifest)


def described_digest(manifest: Mapping[str, Any]) -> str:
    """Return the digest of all that a manifest says, and so of every file, the label among them.

    Only its row's own place is left out, because the digest stands in that row.
    """
    said = {name: value for name, value in manifest.items() if name != "ledger"}
    return hashlib.sha256(manifest_bytes(said)).hexdigest()


def signed_bytes(data: bytes) -> bytes:
    """Return what the signature is made on: a signature here means nothing anywhere else."""
    return SIGNING_CONTEXT + data
