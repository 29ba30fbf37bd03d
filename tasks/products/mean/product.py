"""Means as a product: their files, their gate, their part of the manifest."""

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from tasks.gates.quality import Verdict
from tasks.gates.quality import judge as judge_suite
from tasks.products.files import Made
from tasks.products.mean.processing import estimated, parameters_of
from tasks.products.mean.request import MeanSettings
from tasks.products.mean.tables import (
    TABLE,
    WORDS,
    build_table,
    describe,
    describe_check,
    judged_facts,
    second_guarantee,
    sizes_of,
)
from tasks.release.run import Release
from tasks.verify.manifest import guarantees_of

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


def blocked(release: Release, settings: MeanSettings) -> list[str]:
    """Return nothing: no text of anybody's is published."""
    return []


def make(
    release: Release, settings: Mapping[str, Any], hidden: frozenset[str], version: int
) -> Made:
    """Build the table from what the steps estimated, and say what is in it."""
    design, decimals, found = (
        parameters_of(release).design,
        settings["decimals"],
        estimated(release),
    )
    table = build_table(found.means, decimals)
    facts = {
        "guarantees": guarantees_of(release.reservation.groups, WORDS),
        "second_guarantee": second_guarantee(design, sizes_of(table)),
        "noise": describe(design),
        "cross_check": describe_check(found.agreements),
        "decimals": decimals,
    }
    return Made({TABLE: table}, facts, decimals)


def judge(release: Release, made: Made, settings: MeanSettings, hidden: frozenset[str]) -> Verdict:
    """Judge the table as it would be published; raise GateRefused."""
    upper = float(parameters_of(release).upper)
    facts = judged_facts(made.tables[TABLE], settings.decimals, upper)
    p_value = made.facts["cross_check"]["p_value"]
    facts["agreement"] = None if p_value is None else float(p_value)
    limits = {"max_bytes": float(settings.max_bytes), "min_agreement": settings.min_agreement}
    return judge_suite("means", pa.Table.from_pylist([facts], schema=_FACTS), limits).require()
