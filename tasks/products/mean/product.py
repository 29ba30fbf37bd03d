"""Means as a product: their files, their gate, their part of the manifest, their label."""

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from tasks.gates.quality import Verdict
from tasks.gates.quality import judge as judge_suite
from tasks.measured.stored import load_measurement
from tasks.products.files import Made, files_of, rounded
from tasks.products.mean import NUMBERS, SQUARES, SUMS
from tasks.products.mean.estimates import KeyMean, MeanLaws, estimate_means
from tasks.products.mean.guarantee import second_guarantee
from tasks.verify.manifest import guarantees_of, words_of

if TYPE_CHECKING:  # verifying needs no request, and they take long to import
    from tasks.products.mean.request import MeanSettings
    from tasks.release.run import Release

TABLE = "means"
SCHEMA = pa.schema(
    {
        "key": pa.string(),
        "optin_people": pa.int64(),
        "clients": pa.int64(),
        "mean": pa.float64(),
        "ci_low": pa.float64(),
        "ci_high": pa.float64(),
    }
)
WORDS = words_of(
    roles={
        SUMS: "gave a number to the curator, who added them up",
        SQUARES: "gave it once more, for how much numbers spread",
        NUMBERS: "reported a number",
    },
    trusts={SUMS: "the curator", SQUARES: "the curator", NUMBERS: "the curator (simulated)"},
)


def blocked(release: "Release", settings: "MeanSettings") -> list[str]:
    """Return nothing: no text of anybody's is published."""
    return []


def means_of(release: "Release") -> list[KeyMean]:
    """Return what is published, before rounding."""
    measured = {group: load_measurement(release, group) for group in release.groups}
    return estimate_means(release.reservation.parameters, measured)


def build_table(means: Sequence[KeyMean], decimals: int) -> pa.Table:
    """Round means and their intervals, in the order of the keys' texts."""
    rows = []
    for found in sorted(means, key=lambda mean: mean.key):
        estimate = found.estimate
        rows.append(
            {
                "key": found.key,
                "optin_people": found.n_optin,
                "clients": found.n_clients,
                "mean": rounded(estimate.value, decimals),
                "ci_low": rounded(estimate.low, decimals),
                "ci_high": rounded(estimate.high, decimals),
            }
        )
    return pa.Table.from_pylist(rows, schema=SCHEMA)


def sizes_of(table: pa.Table) -> list[tuple[int, int]]:
    """Return how many people of both groups each key has."""
    return list(zip(table["optin_people"].to_pylist(), table["clients"].to_pylist(), strict=True))


def make(
    release: "Release", settings: Mapping[str, Any], hidden: frozenset[str], version: int
) -> Made:
    """Build the table, and say what is in it."""
    decimals, means = settings["decimals"], means_of(release)
    parameters, table = release.reservation.parameters, build_table(means, decimals)
    facts = {
        "guarantees": guarantees_of(release.reservation.groups, WORDS),
        "second_guarantee": second_guarantee(parameters, sizes_of(table)),
        "noise": describe(parameters),
        "cross_check": cross_check(means),
        "decimals": decimals,
    }
    return Made({TABLE: table}, facts, decimals)


def describe(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return the standard deviations of the noise, for one person, in the column's unit."""
    laws = MeanLaws(parameters)
    step = laws.grid.step
    largest = float(laws.reports.law.noise.largest(laws.grid.n_steps))
    return {
        "sums_sd": f"{math.sqrt(laws.sums.noise.variance) * step:.6g}",
        "report_sd_at_most": f"{math.sqrt(largest) * step:.6g}",
    }


def cross_check(means: Sequence[KeyMean]) -> dict[str, Any]:
    """Say how well the groups agree: over all keys, by the least likely of them (Bonferroni)."""
    compared = [mean.agreement for mean in means if mean.agreement is not None]
    p_value = min(1.0, len(compared) * min(compared)) if compared else None
    return {
        "compared": len(compared),
        "p_value": None if p_value is None else f"{p_value:.3g}",
    }


def judge(
    release: "Release", made: Made, settings: "MeanSettings", hidden: frozenset[str]
) -> Verdict:
    """Judge the table as it would be published; raise GateRefused."""
    facts = judged_facts(made.tables[TABLE], settings.decimals, float(release_upper(release)))
    p_value = made.facts["cross_check"]["p_value"]
    facts["agreement"] = None if p_value is None else float(p_value)
    limits = {"max_bytes": float(settings.max_bytes), "min_agreement": settings.min_agreement}
    return judge_suite("means", pa.Table.from_pylist([facts], schema=_FACTS), limits).require()


def release_upper(release: "Release") -> float:
    """Return the largest number that counts fully."""
    return float(MeanLaws(release.reservation.parameters).grid.upper)


_FACTS = pa.schema(
    {
        "n_rows": pa.int64(),
        "n_bytes": pa.int64(),
        "n_repeated": pa.int64(),
        "n_impossible": pa.int64(),
        "n_crossed": pa.int64(),
        "order_is_fixed": pa.bool_(),
        "agreement": pa.float64(),
    }
)


def judged_facts(table: pa.Table, decimals: int, upper: float) -> dict[str, Any]:
    """Return the facts about the table that the gate judges."""
    rows, keys = table.to_pylist(), table["key"].to_pylist()
    half = 0.5 * 10**-decimals  # rounding may pass the limit by so much
    numbers = [row[name] for row in rows for name in ("mean", "ci_low", "ci_high")]
    return {
        "n_rows": len(rows),
        "n_bytes": max(len(data) for data in files_of({TABLE: table}, decimals).values()),
        "n_repeated": len(keys) - len(set(keys)),
        "n_impossible": sum(not -half <= number <= upper + half for number in numbers),
        "n_crossed": sum(not row["ci_low"] <= row["mean"] <= row["ci_high"] for row in rows),
        "order_is_fixed": keys == sorted(keys),
    }
