"""Are published histograms what their measurements give? From public facts alone."""

from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from hybriddp.errors import HybridDPError
from hybriddp.params import Budget
from tasks.checks import VerificationFailed, require_prices
from tasks.manifest import Words
from tasks.zealous_label import write_label
from tasks.zealous_product import build_table, describe, files_of, histogram_words, schema_of
from tasks.zealous_request import ITEM_COLUMNS, part_of

FIELDS = {"guarantees", "histograms", "rows", "blocked_items"}


def schemas(manifest: Mapping[str, Any]) -> dict[str, pa.Schema]:
    """Return the columns of every published table."""
    return {kind: schema_of(kind) for kind in groups(manifest)}


def groups(manifest: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the histograms, each of which has a measurement of its own."""
    return tuple(manifest["parameters"]["histograms"])


def check_promise(folder: Path, manifest: Mapping[str, Any]) -> None:
    """See that parameters, guarantees, noise, thresholds and rows say one thing."""
    parameters, guarantees = manifest["parameters"], manifest["guarantees"]
    try:
        whole = Budget(Fraction(parameters["epsilon"]), Fraction(parameters["delta"]))
        part = part_of(whole, len(parameters["histograms"]))
        described = describe(
            parameters,
            {kind: {**terms, "members": terms["people"]} for kind, terms in guarantees.items()},
        )
    except (HybridDPError, KeyError, TypeError, ValueError):
        raise VerificationFailed("parameters and guarantees are not those of histograms.") from None
    require_prices(manifest, dict.fromkeys(groups(manifest), part))
    if described != manifest["histograms"]:
        raise VerificationFailed("noise and thresholds are not those that keep the promise.")
    for kind, terms in described.items():
        users = pq.read_table(folder / f"{kind}.parquet")["users"].to_pylist()
        if min(users, default=terms["threshold"] + 1) <= terms["threshold"]:
            raise VerificationFailed(f"{kind}.parquet shows an item at or below its threshold.")


def words(manifest: Mapping[str, Any]) -> Words:
    """Return what is said of each histogram's people."""
    return histogram_words(groups(manifest))


def label(manifest: Mapping[str, Any]) -> str:
    """Write the label again."""
    return write_label(manifest)


def recomputed_files(
    folder: Path, manifest: Mapping[str, Any], measured: Mapping[str, pa.Table]
) -> dict[str, bytes]:
    """Build the histograms again, without what was blocked; compare what is no file."""
    blocked = _missing_texts(folder, measured)
    tables = {kind: build_table(kind, table, blocked) for kind, table in measured.items()}
    n_measured = sum(table.num_rows for table in measured.values())
    n_blocked = n_measured - sum(table.num_rows for table in tables.values())
    if n_blocked != manifest["blocked_items"]:
        raise VerificationFailed("items are missing beyond those that were blocked.")
    return files_of(tables)


def _missing_texts(folder: Path, measured: Mapping[str, pa.Table]) -> frozenset[str]:
    """Return what was measured and is published nowhere: blocked queries, or something is wrong."""
    there, shown = set[str](), set[str]()
    for kind, table in measured.items():
        published = pq.read_table(folder / f"{kind}.parquet")
        for name in ITEM_COLUMNS[kind]:
            if name != "url":
                there |= set(table[name].to_pylist())
                shown |= set(published[name].to_pylist())
    return frozenset(there - shown)
