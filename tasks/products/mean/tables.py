"""Means as they are published: the table, and what a manifest says about it, from public facts."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from hybriddp.errors import HybridDPError
from hybriddp.mean.clients import N_POWERS, ReportSums
from hybriddp.mean.design import MeanDesign, Sizes, certified_against
from hybriddp.mean.estimation import KeyAgreement, KeyMean, KeySums, together
from hybriddp.rounding import rounded_up
from tasks.products.files import files_of, rounded
from tasks.products.label import ALL_DIGITS, COALITIONS, in_decimals
from tasks.products.mean import NUMBERS, SQUARES, SUMS
from tasks.verify.manifest import words_of

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


def by_key(measured: Mapping[str, pa.Table]) -> Iterator[KeySums]:
    """Put the measurements of each key together; every table has all keys in one order."""
    sums, reports = measured[SUMS].to_pylist(), measured[NUMBERS].to_pylist()
    nothing = [{"key": row["key"], "n_pairs": 0, "noisy_sum": 0} for row in sums]
    squares = measured[SQUARES].to_pylist() if SQUARES in measured else nothing
    for of_sum, of_square, of_reports in zip(sums, squares, reports, strict=True):
        if len({row["key"] for row in (of_sum, of_square, of_reports)}) > 1:
            raise HybridDPError("the measurements of a mean are not about the same keys.")
        powers = [[of_reports[f"power_{power + 1}"]] for power in range(N_POWERS)]
        yield KeySums(
            of_sum["key"],
            of_sum["n_people"],
            of_sum["noisy_sum"],
            of_square["n_pairs"],
            of_square["noisy_sum"],
            ReportSums(np.array([of_reports["n_reports"]]), np.array(powers)),
        )


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


def sizes_of(table: pa.Table) -> list[Sizes]:
    """Return how many people of both groups each key has."""
    return list(zip(table["optin_people"].to_pylist(), table["clients"].to_pylist(), strict=True))


def describe(design: MeanDesign) -> dict[str, Any]:
    """Return the standard deviations of the noise, for one person, in the column's unit."""
    step = design.grid.step
    largest = float(design.reports.law.noise.largest(design.grid.n_steps))
    return {
        "sums_sd": f"{math.sqrt(design.sums.noise.variance) * step:.6g}",
        "report_sd_at_most": f"{math.sqrt(largest) * step:.6g}",
    }


def describe_check(agreements: Sequence[KeyAgreement]) -> dict[str, Any]:
    """Return how well the groups agree, in numbers that print the same everywhere."""
    n_compared, p_value = together(agreements)
    return {
        "compared": n_compared,
        "p_value": None if p_value is None else f"{p_value:.3g}",
    }


def second_guarantee(design: MeanDesign, sizes: Sequence[Sizes]) -> list[dict[str, Any]] | None:
    """Return what is proved against those who see the release alone; None if nothing is.

    One row for each size of a coalition, for keys of these sizes.
    """
    stated = []
    for share in COALITIONS:
        proved = certified_against(design, sizes, share)
        if proved is None:
            return None
        stated.append(
            {
                "coalition": f"{float(share):g}",
                "epsilon_optin": in_decimals(proved.epsilon_trusted),
                "epsilon_clients": in_decimals(proved.epsilon_local),
                "delta": rounded_up(proved.budget.delta, ALL_DIGITS),
            }
        )
    return stated


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
