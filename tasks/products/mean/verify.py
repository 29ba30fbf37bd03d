"""Are published means what their measurements give? From public facts alone."""

from collections.abc import Mapping

import pyarrow as pa

from hybriddp.errors import HybridDPError
from hybriddp.mean.estimation import estimate_means
from tasks.products.files import files_of
from tasks.products.mean import NUMBERS, SUMS
from tasks.products.mean.label import MeanManifest, write_label
from tasks.products.mean.tables import (
    SCHEMA,
    TABLE,
    WORDS,
    build_table,
    by_key,
    describe,
    describe_check,
    judged_facts,
    second_guarantee,
    sizes_of,
)
from tasks.verify.checks import LeftOut, VerificationFailed, require_prices
from tasks.verify.manifest import Words

MANIFEST = MeanManifest


def schemas(manifest: MeanManifest) -> dict[str, pa.Schema]:
    """Return the columns of every published table."""
    return {TABLE: SCHEMA}


def groups(manifest: MeanManifest) -> tuple[str, ...]:
    """Return the groups that have a measurement."""
    return tuple(manifest.parameters.prices)


def check_promise(manifest: MeanManifest, tables: Mapping[str, pa.Table]) -> None:
    """See that parameters, both guarantees, noise and rows say one thing."""
    parameters, table = manifest.parameters, tables[TABLE]
    try:
        prices, design = parameters.prices, parameters.design
        described, upper = describe(design), float(parameters.upper)
        second = second_guarantee(design, sizes_of(table))
    except (HybridDPError, KeyError, TypeError, ValueError):
        raise VerificationFailed("parameters and guarantees are not those of a mean.") from None
    require_prices(manifest, prices)
    if described != manifest.noise:
        raise VerificationFailed("the noise is not the one that keeps the promise.")
    if second != manifest.second_guarantee:
        raise VerificationFailed("the second guarantee is not the one that is proved.")
    counted = [sum(column) for column in zip(*sizes_of(table), strict=True)]
    if counted != [manifest.guarantees[group].people for group in (SUMS, NUMBERS)]:
        raise VerificationFailed("the guarantees speak of other people than the table counts.")
    facts = judged_facts(table, manifest.decimals, upper)
    if facts["n_impossible"] or facts["n_crossed"] or facts["n_repeated"]:
        raise VerificationFailed(f"{TABLE}.parquet holds a row that no measurement gives.")


def words(manifest: MeanManifest) -> Words:
    """Return what is said of each group."""
    return {group: WORDS[group] for group in groups(manifest)}


def label(manifest: MeanManifest) -> str:
    """Write the label again."""
    return write_label(manifest)


def recomputed_files(
    manifest: MeanManifest,
    tables: Mapping[str, pa.Table],
    measured: Mapping[str, pa.Table],
    left_out: LeftOut,
) -> dict[str, bytes]:
    """Estimate the means again; compare what is no file."""
    found = estimate_means(manifest.parameters.design, by_key(measured))
    if describe_check(found.agreements) != manifest.cross_check.model_dump():
        raise VerificationFailed("the cross-check is not the one that the measurements give.")
    table = build_table(found.means, manifest.decimals)
    return files_of({TABLE: table}, manifest.decimals)
