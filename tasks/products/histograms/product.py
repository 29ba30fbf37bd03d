"""Histograms as a product: their files, their gate, their part of the manifest."""

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from hybriddp.zealous.item_kinds import ITEM_COLUMNS
from tasks.gates.blocklist import blocked_queries, read_blocklist
from tasks.gates.quality import Verdict
from tasks.gates.quality import judge as judge_suite
from tasks.products.files import Made
from tasks.products.histograms.estimation.processing import estimated, parameters_of
from tasks.products.histograms.estimation.tables import (
    build_table,
    describe,
    histogram_words,
    judged_facts,
)
from tasks.products.histograms.request import HistogramSettings
from tasks.release.run import Release
from tasks.verify.manifest import guarantees_of


def listed_queries(release: Release) -> set[str]:
    """Return every text that would be published if none were blocked."""
    return {
        row[name]
        for kind, ranked in estimated(release).items()
        for name in ITEM_COLUMNS[kind]
        if name != "url"
        for row in ranked
    }


def blocked(release: Release, settings: HistogramSettings) -> list[str]:
    """Return the measured texts that are not to be published."""
    return sorted(blocked_queries(release, settings.blocklist, listed_queries))


def make(
    release: Release, settings: Mapping[str, Any], hidden: frozenset[str], version: int
) -> Made:
    """Build every published histogram from what the step ranked, and say what is in them."""
    groups, found = release.reservation.groups, estimated(release)
    tables = {kind: build_table(kind, ranked, hidden, version) for kind, ranked in found.items()}
    n_measured = sum(map(len, found.values()))
    facts = {
        "guarantees": guarantees_of(groups, histogram_words(groups)),
        "histograms": describe(parameters_of(release), groups),
        "blocked_items": n_measured - sum(table.num_rows for table in tables.values()),
    }
    return Made(tables, facts)


def judge(
    release: Release, made: Made, settings: HistogramSettings, hidden: frozenset[str]
) -> Verdict:
    """Judge the tables as they would be published; raise GateRefused."""
    blocklist = hidden | read_blocklist(settings.blocklist)
    facts = judged_facts(made.tables, made.facts["histograms"], blocklist)
    limits = {"max_bytes": float(settings.max_bytes)}
    return judge_suite("histograms", pa.Table.from_pylist([facts]), limits).require()
