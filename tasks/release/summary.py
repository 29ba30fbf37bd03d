"""What a terminal shows of a release: lines and tables of texts, however they will look."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tasks.ledger.charges import Charge
from tasks.products.registry import product_with
from tasks.verify.manifest import Manifest


@dataclass(frozen=True, slots=True)
class Grid:
    """A table."""

    names: Sequence[str]
    rows: Sequence[Sequence[str]]


Summary = Iterable[str | Grid]


@dataclass(frozen=True, slots=True)
class Published:
    """What lies in a release's folder."""

    folder: Path
    manifest: Any  # the model of its product
    rows: Mapping[str, Sequence[Mapping[str, Any]]]  # of every table, by its name


def blocked_words(manifest: Manifest) -> str:
    """Say that what is blocked stays so, if anything is; not which texts."""
    if not manifest.n_blocked:
        return ""
    return (
        f"Left out by a blocklist: {manifest.n_blocked}. That is for good: no revision of this "
        "release will publish them, whatever later blocklists say.\n"
    )


def promise(manifest: Manifest) -> str:
    """Say what everybody pays; opt-in people may be in two groups."""
    guarantees, product = manifest.guarantees, product_with(manifest.parameters.strategy)
    parts = []
    for together in product.people_of(guarantees):
        paid = [guarantees[group] for group in together]
        charge = Charge.sum(Charge.of_terms(stated.terms) for stated in paid)
        who = "clients" if product.groups[together[0]].is_client else "opt-in people"
        parts.append(f"{charge} for each of {paid[0].people:,} {who}")
    return ", ".join(parts)
