"""Are published histograms what their measurements give? From public facts alone."""

from collections.abc import Mapping

import pyarrow as pa

from hybriddp.errors import HybridDPError
from hybriddp.zealous.item_kinds import ITEM_COLUMNS
from tasks.products.files import files_of
from tasks.products.histograms.estimation.tables import (
    build_table,
    count_column,
    describe,
    histogram_words,
    rank_items,
    schema_of,
)
from tasks.products.histograms.label import HistogramManifest, write_label
from tasks.verify.checks import LeftOut, VerificationFailed, require_prices
from tasks.verify.manifest import Words

MANIFEST = HistogramManifest


def schemas(manifest: HistogramManifest) -> dict[str, pa.Schema]:
    """Return the columns of every published table."""
    return {kind: schema_of(kind, manifest.schema_version) for kind in groups(manifest)}


def groups(manifest: HistogramManifest) -> tuple[str, ...]:
    """Return the histograms, each of which has a measurement of its own."""
    return manifest.parameters.histograms


def check_promise(manifest: HistogramManifest, tables: Mapping[str, pa.Table]) -> None:
    """See that parameters, guarantees, noise, thresholds and rows say one thing."""
    parameters = manifest.parameters
    try:
        prices = parameters.prices
        paid = {kind: promised.terms for kind, promised in manifest.guarantees.items()}
        described = describe(parameters, paid)
    except (HybridDPError, KeyError, TypeError, ValueError):
        raise VerificationFailed("parameters and guarantees are not those of histograms.") from None
    require_prices(manifest, prices)
    if described != {kind: stated.model_dump() for kind, stated in manifest.histograms.items()}:
        raise VerificationFailed("noise and thresholds are not those that keep the promise.")
    for kind, terms in described.items():
        counts = tables[kind][count_column(manifest.schema_version)].to_pylist()
        if min(counts, default=terms["threshold"] + 1) <= terms["threshold"]:
            raise VerificationFailed(f"{kind}.parquet shows an item at or below its threshold.")


def words(manifest: HistogramManifest) -> Words:
    """Return what is said of each histogram's people."""
    return histogram_words(groups(manifest))


def label(manifest: HistogramManifest) -> str:
    """Write the label again."""
    return write_label(manifest)


def recomputed_files(
    manifest: HistogramManifest,
    tables: Mapping[str, pa.Table],
    measured: Mapping[str, pa.Table],
    left_out: LeftOut,
) -> dict[str, bytes]:
    """Build the histograms again, without what was blocked; compare what is no file."""
    blocked = left_out.now
    if blocked is None:
        blocked = _missing_texts(tables, measured)
    version = manifest.schema_version
    again = {
        kind: build_table(kind, rank_items(kind, table), blocked, version)
        for kind, table in measured.items()
    }
    n_measured = sum(table.num_rows for table in measured.values())
    n_blocked = n_measured - sum(table.num_rows for table in again.values())
    if n_blocked != manifest.blocked_items:
        raise VerificationFailed("items are missing beyond those that were blocked.")
    return files_of(again)


def _missing_texts(
    tables: Mapping[str, pa.Table], measured: Mapping[str, pa.Table]
) -> frozenset[str]:
    """Return what was measured and is published nowhere: blocked queries, or something is wrong."""
    there, shown = set[str](), set[str]()
    for kind, table in measured.items():
        for name in ITEM_COLUMNS[kind]:
            if name != "url":
                there |= set(table[name].to_pylist())
                shown |= set(tables[kind][name].to_pylist())
    return frozenset(there - shown)
