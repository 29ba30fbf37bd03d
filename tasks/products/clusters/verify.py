"""Are published clusters what their measurements give? From public facts alone."""

from collections.abc import Mapping

import pyarrow as pa

from hybriddp.errors import HybridDPError
from hybriddp.kmeans.estimation import find_clusters
from tasks.products.clusters import ANSWERS, POINTS
from tasks.products.clusters.label import ClusterManifest, write_label
from tasks.products.clusters.tables import (
    SCHEMAS,
    WORDS,
    build_tables,
    describe,
    judged_facts,
    measured_from,
)
from tasks.products.files import files_of
from tasks.verify.checks import LeftOut, VerificationFailed, require_prices
from tasks.verify.manifest import Words

MANIFEST = ClusterManifest


def schemas(manifest: ClusterManifest) -> dict[str, pa.Schema]:
    """Return the columns of every published table."""
    return SCHEMAS


def groups(manifest: ClusterManifest) -> tuple[str, ...]:
    """Return the groups that have a measurement."""
    return tuple(manifest.parameters.prices)


def check_promise(manifest: ClusterManifest, tables: Mapping[str, pa.Table]) -> None:
    """See that parameters, guarantees, noise and rows say one thing."""
    parameters = manifest.parameters
    try:
        prices = parameters.prices
        described = describe(parameters.design)
        facts = judged_facts(parameters, tables, manifest.decimals)
    except (HybridDPError, KeyError, TypeError, ValueError):
        raise VerificationFailed("parameters and guarantees are not those of clusters.") from None
    require_prices(manifest, prices)
    if described != manifest.noise:
        raise VerificationFailed("the noise is not the one that keeps the promise.")
    if facts["n_missing"] or facts["n_impossible"] or not facts["order_is_fixed"]:
        raise VerificationFailed("the tables hold a row that no measurement gives.")


def words(manifest: ClusterManifest) -> Words:
    """Return what is said of each group."""
    return {group: WORDS[group] for group in groups(manifest)}


def label(manifest: ClusterManifest) -> str:
    """Write the label again."""
    return write_label(manifest)


def recomputed_files(
    manifest: ClusterManifest,
    tables: Mapping[str, pa.Table],
    measured: Mapping[str, pa.Table],
    left_out: LeftOut,
) -> dict[str, bytes]:
    """Walk from the first centres to the last ones again."""
    parameters = manifest.parameters
    design, decimals = parameters.design, manifest.decimals
    # Every client answers once in each iteration, and counts for a whole grid.
    answers = parameters.n_iterations * parameters.grid
    if sum(measured[ANSWERS]["count"].to_pylist()) != answers * _people(manifest, ANSWERS):
        raise VerificationFailed("the guarantees speak of other clients than have answered.")
    found = find_clusters(design, measured_from(design, measured, _people(manifest, POINTS)))
    return files_of(build_tables(parameters.columns, found, decimals), decimals)


def _people(manifest: ClusterManifest, group: str) -> int:
    return manifest.guarantees[group].people
