"""The door that every manifest comes through: JSON outside, the model of its product inside."""

from typing import Any

from pydantic import ValidationError

from hybriddp.errors import HybridDPError
from tasks.products.registry import UnknownProduct, product_of
from tasks.store.reading import Unreadable, parse_json
from tasks.verify.manifest import Manifest, manifest_bytes


class Misfit(HybridDPError):
    """A manifest does not say what a release of its kind says; the message has no value of it."""


def read_manifest(data: bytes) -> Manifest:
    """Read a manifest in its one spelling; raise Misfit, which names the field if one is at fault.

    Keys that are given twice, or numbers that are none, have another spelling.
    """
    try:
        raw = parse_json(data, "manifest.json")
        if manifest_bytes(raw) != data:
            raise Misfit(_words())
        return described(raw)
    except (Unreadable, LookupError, TypeError, ValueError, AttributeError, RecursionError):
        raise Misfit(_words()) from None


def described(raw: Any) -> Manifest:
    """Return the model of a manifest that is not spelt yet; raise Misfit."""
    try:
        model: type[Manifest] = product_of(raw["parameters"]).checking.MANIFEST
    except (UnknownProduct, LookupError, TypeError, AttributeError):
        raise Misfit(_words()) from None
    try:
        return model.model_validate(raw)
    except ValidationError as error:
        places = {found["loc"][0] for found in error.errors() if found["loc"]}
        at_fault = [name for name in model.model_fields if name in places]  # no foreign text
        raise Misfit(_words(at_fault[0] if at_fault else None)) from None


def _words(field: str | None = None) -> str:
    where = f" in {field}" if field else ""
    return f"the manifest has a schema that this version does not know{where}; update hybriddp."
