"""Clusters as a product: their files, their gate, their part of the manifest."""

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from tasks.gates.quality import Verdict
from tasks.gates.quality import judge as judge_suite
from tasks.products.clusters.processing import estimated, parameters_of
from tasks.products.clusters.request import ClusterSettings
from tasks.products.clusters.tables import WORDS, build_tables, describe, judged_facts
from tasks.products.files import Made
from tasks.release.run import Release
from tasks.verify.manifest import guarantees_of


def blocked(release: Release, settings: ClusterSettings) -> list[str]:
    """Return nothing: no text of anybody's is published."""
    return []


def make(
    release: Release, settings: Mapping[str, Any], hidden: frozenset[str], version: int
) -> Made:
    """Build the tables from what the steps estimated, and say what is in them."""
    parameters, decimals = parameters_of(release), settings["decimals"]
    facts = {
        "guarantees": guarantees_of(release.reservation.groups, WORDS),
        "noise": describe(parameters.design),
        "decimals": decimals,
    }
    return Made(build_tables(parameters.columns, estimated(release), decimals), facts, decimals)


def judge(
    release: Release, made: Made, settings: ClusterSettings, hidden: frozenset[str]
) -> Verdict:
    """Judge the tables as they would be published; raise GateRefused."""
    facts = judged_facts(parameters_of(release), made.tables, settings.decimals)
    limits = {"max_bytes": float(settings.max_bytes)}
    return judge_suite("clusters", pa.Table.from_pylist([facts]), limits).require()
