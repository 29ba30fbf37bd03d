"""Histograms as a product: their files, their gate, their part of the manifest, their label."""

import math
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from hybriddp.params import Budget
from hybriddp.rounding import rounded_up
from hybriddp.zealous.mechanism import ZealousMechanism
from tasks.budget.policy import DELTA_UNITS, EPSILON_UNITS
from tasks.gates.blocklist import blocked_queries, read_blocklist
from tasks.gates.quality import Verdict
from tasks.gates.quality import judge as judge_suite
from tasks.ledger.payloads import Terms
from tasks.measured.stored import load_measurement
from tasks.products.files import Made, files_of
from tasks.verify.form import FIRST_SCHEMA, SCHEMA_VERSION
from tasks.verify.manifest import Words, guarantees_of, words_of

if TYPE_CHECKING:  # verifying needs no request, and they take long to import
    from tasks.products.histograms.request import HistogramSettings
    from tasks.release.run import Release
from hybriddp.zealous.item_kinds import ITEM_COLUMNS

Tables = Mapping[str, pa.Table]

# How often a published count may be further from the truth than the margin that is stated.
_MARGIN_LEVEL = 0.05
# What measurements call the noisy counts, and what published histograms do.
_MEASURED, CONTRIBUTORS = "users", "contributors"


def listed_queries(release: "Release") -> set[str]:
    """Return every text that would be published if none were blocked."""
    measured = {kind: load_measurement(release, kind) for kind in kinds_of(release)}
    return {
        text
        for kind, table in measured.items()
        for name in ITEM_COLUMNS[kind]
        if name != "url"
        for text in table[name].to_pylist()
    }


def blocked(release: "Release", settings: "HistogramSettings") -> list[str]:
    """Return the measured texts that are not to be published."""
    return sorted(blocked_queries(release, settings.blocklist, listed_queries))


def kinds_of(release: "Release") -> Sequence[str]:
    """Return the histograms of a release, in the order of their draws."""
    kinds: Sequence[str] = release.reservation.parameters["histograms"]
    return kinds


def count_column(version: int) -> str:
    """Return what a published histogram calls its counts.

    They are of the people who contributed an item, of at most m each, not of its users, as
    version 0.1.0 called them.
    """
    return _MEASURED if version == FIRST_SCHEMA else CONTRIBUTORS


def schema_of(kind: str, version: int = SCHEMA_VERSION) -> pa.Schema:
    """Return the columns of a published histogram."""
    texts = [(name, pa.string()) for name in ITEM_COLUMNS[kind]]
    return pa.schema([("rank", pa.int64()), *texts, (count_column(version), pa.int64())])


def build_table(
    kind: str, measured: pa.Table, hidden: frozenset[str], version: int = SCHEMA_VERSION
) -> pa.Table:
    """Order a histogram by its noisy counts, then by text; leave out what is blocked."""
    names = ITEM_COLUMNS[kind]
    rows = [
        row
        for row in measured.to_pylist()
        if not any(row[name] in hidden for name in names if name != "url")
    ]
    rows.sort(key=lambda row: (-row[_MEASURED], *(row[name] for name in names)))
    column = count_column(version)
    ranked = [
        {"rank": rank, **row, column: row[_MEASURED]} for rank, row in enumerate(rows, start=1)
    ]
    return pa.Table.from_pylist(ranked, schema=schema_of(kind, version))


def make(
    release: "Release", settings: Mapping[str, Any], hidden: frozenset[str], version: int
) -> Made:
    """Build every published histogram, and say what is in them."""
    reserved = release.reservation
    measured = {kind: load_measurement(release, kind) for kind in kinds_of(release)}
    tables = {kind: build_table(kind, table, hidden, version) for kind, table in measured.items()}
    n_measured = sum(table.num_rows for table in measured.values())
    facts = {
        "guarantees": guarantees_of(reserved.groups, histogram_words(reserved.groups)),
        "histograms": describe(reserved.parameters, reserved.groups),
        "blocked_items": n_measured - sum(table.num_rows for table in tables.values()),
    }
    return Made(tables, facts)


def histogram_words(kinds: Iterable[str]) -> Words:
    """Return what is said of each histogram's people."""
    roles = {kind: f"were counted in the histogram of {kind}" for kind in kinds}
    return words_of(roles, dict.fromkeys(roles, "the curator"))


def describe(
    parameters: Mapping[str, Any], groups: Mapping[str, Terms]
) -> dict[str, dict[str, Any]]:
    """Return the noise and thresholds of each histogram, in numbers that print the same."""
    described = {}
    for kind in parameters["histograms"]:
        mechanism = mechanism_for(parameters, groups, kind)
        # P(|Y| > k) = 2 a^(k+1)/(1+a); the logarithm may be off by one in its last digit.
        noise = mechanism.noise
        margin = max(int(noise.scale * math.log(2 / _MARGIN_LEVEL / (1 + noise.decay))) - 2, 0)
        while 2 * float(noise.tail(margin + 1)) > _MARGIN_LEVEL:
            margin += 1
        described[kind] = {
            "noise_scale": mechanism.noise.scale.hex(),
            "first_threshold": mechanism.first_threshold,
            "threshold": mechanism.threshold,
            "margin_95": margin,
            "leak": rounded_up(mechanism.event.leak, 3),
        }
    return described


def judge(
    release: "Release", made: Made, settings: "HistogramSettings", hidden: frozenset[str]
) -> Verdict:
    """Judge the tables as they would be published; raise GateRefused."""
    blocklist = hidden | read_blocklist(settings.blocklist)
    facts = judged_facts(made.tables, made.facts["histograms"], blocklist)
    limits = {"max_bytes": float(settings.max_bytes)}
    return judge_suite("histograms", pa.Table.from_pylist([facts]), limits).require()


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
    parameters: Mapping[str, Any], groups: Mapping[str, Terms], kind: str
) -> ZealousMechanism:
    """Rebuild a mechanism from public facts: parameters, and what each group paid."""
    terms = groups[kind]
    return ZealousMechanism.for_budget(
        Budget(
            Fraction(terms.epsilon_nano, EPSILON_UNITS),
            Fraction(terms.delta_atto, DELTA_UNITS),
        ),
        parameters["relaxation"],
        parameters["items_per_user"],
        terms.n_people,
    )
