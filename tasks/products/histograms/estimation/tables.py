"""Histograms as tables: in the order of their counts, and as they are published."""

from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any

import pyarrow as pa

from hybriddp.params import Budget
from hybriddp.rounding import rounded_up
from hybriddp.zealous.item_kinds import ITEM_COLUMNS
from hybriddp.zealous.margin import noise_margin
from hybriddp.zealous.mechanism import ZealousMechanism
from tasks.ledger.charges import DELTA_UNITS, EPSILON_UNITS
from tasks.ledger.payloads import Terms
from tasks.products.files import files_of
from tasks.products.histograms.parameters import ZealousParameters
from tasks.verify.manifest import FIRST_SCHEMA, SCHEMA_VERSION, Words, words_of

Tables = Mapping[str, pa.Table]
# Rows of a histogram: the texts of an item, and its noisy count.
Ranked = list[dict[str, Any]]

# How often a published count may be further from the truth than the margin that is stated.
_MARGIN_LEVEL = 0.05
# What measurements call the noisy counts, and what published histograms do.
MEASURED, CONTRIBUTORS = "users", "contributors"


def count_column(version: int) -> str:
    """Return what a published histogram calls its counts.

    They are of the people who contributed an item, of at most m each, not of its users, as
    version 0.1.0 called them.
    """
    return MEASURED if version == FIRST_SCHEMA else CONTRIBUTORS


def schema_of(kind: str, version: int = SCHEMA_VERSION) -> pa.Schema:
    """Return the columns of a published histogram."""
    texts = [(name, pa.string()) for name in ITEM_COLUMNS[kind]]
    return pa.schema([("rank", pa.int64()), *texts, (count_column(version), pa.int64())])


def rank_items(kind: str, measured: pa.Table) -> Ranked:
    """Order a histogram by its noisy counts, then by text."""
    names = ITEM_COLUMNS[kind]
    key = lambda row: (-row[MEASURED], *(row[name] for name in names))  # noqa: E731
    return sorted(measured.to_pylist(), key=key)


def build_table(
    kind: str, ranked: Ranked, hidden: frozenset[str], version: int = SCHEMA_VERSION
) -> pa.Table:
    """Number the items in their order; leave out what is blocked."""
    texts, column = [name for name in ITEM_COLUMNS[kind] if name != "url"], count_column(version)
    shown = [row for row in ranked if not any(row[name] in hidden for name in texts)]
    rows = [{"rank": rank, **row, column: row[MEASURED]} for rank, row in enumerate(shown, start=1)]
    return pa.Table.from_pylist(rows, schema=schema_of(kind, version))


def histogram_words(kinds: Iterable[str]) -> Words:
    """Return what is said of each histogram's people."""
    roles = {kind: f"were counted in the histogram of {kind}" for kind in kinds}
    return words_of(roles, dict.fromkeys(roles, "the curator"))


def describe(
    parameters: ZealousParameters, groups: Mapping[str, Terms]
) -> dict[str, dict[str, Any]]:
    """Return the noise and thresholds of each histogram, in numbers that print the same."""
    described: dict[str, dict[str, Any]] = {}
    for kind in parameters.histograms:
        mechanism = mechanism_for(parameters, groups, kind)
        described[kind] = {
            "noise_scale": mechanism.noise.scale.hex(),
            "first_threshold": mechanism.first_threshold,
            "threshold": mechanism.threshold,
            "margin_95": noise_margin(mechanism.noise, _MARGIN_LEVEL),
            "leak": rounded_up(mechanism.event.leak, 3),
        }
    return described


def judged_facts(
    tables: Tables, thresholds: Mapping[str, Mapping[str, Any]], blocklist: frozenset[str]
) -> dict[str, Any]:
    """Return the facts about all histograms that the gate judges."""
    items = {
        kind: [tuple(row[name] for name in ITEM_COLUMNS[kind]) for row in table.to_pylist()]
        for kind, table in tables.items()
    }
    counts = {kind: table[CONTRIBUTORS].to_pylist() for kind, table in tables.items()}
    return {
        "n_rows": sum(table.num_rows for table in tables.values()),
        "n_bytes": max(len(data) for data in files_of(tables).values()),
        "n_blocked": sum(
            text in blocklist
            for table in tables.values()
            for name in table.schema.names
            if name not in ("rank", "url", CONTRIBUTORS)
            for text in table[name].to_pylist()
        ),
        "n_empty_texts": sum(
            not text for found in items.values() for item in found for text in item
        ),
        "n_repeated": sum(len(found) - len(set(found)) for found in items.values()),
        "n_at_threshold": sum(
            count <= thresholds[kind]["threshold"] for kind in tables for count in counts[kind]
        ),
        "order_is_fixed": all(
            list(zip((-n for n in counts[kind]), items[kind], strict=True))
            == sorted(zip((-n for n in counts[kind]), items[kind], strict=True))
            for kind in tables
        ),
    }


def mechanism_for(
    parameters: ZealousParameters, groups: Mapping[str, Terms], kind: str
) -> ZealousMechanism:
    """Rebuild a mechanism from public facts: parameters, and what each group paid."""
    terms = groups[kind]
    return ZealousMechanism.for_budget(
        Budget(
            Fraction(terms.epsilon_nano, EPSILON_UNITS),
            Fraction(terms.delta_atto, DELTA_UNITS),
        ),
        parameters.relaxation,
        parameters.items_per_user,
        terms.n_people,
    )
