"""The signed manifest of a release: what it is, what it promises, and the hash of every file."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from importlib.metadata import version
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from hybriddp.clients import client_mechanism, reports_per_client
from hybriddp.crosscheck import CrossCheck
from hybriddp.package import canonical_json
from hybriddp.params import BlenderParams
from tasks.groups import CLIENTS, HEADLIST, HISTOGRAM
from tasks.ledger_rules import Entry, Kind
from tasks.left_out import digest_of
from tasks.listing import Listing
from tasks.manifest_form import FIRST_SCHEMA
from tasks.measurements import load_measurement
from tasks.postprocess import strategy_of
from tasks.processing import cross_check_of, facts_of, published_listing
from tasks.release_files import Tables
from tasks.run import Release

SIGNING_CONTEXT = b"hybriddp release manifest v1\n"
SIGNATURE_BYTES = 64

# The fixed texts of every group's guarantee.
Words = Mapping[str, Mapping[str, str]]
NEIGHBOURS = "one person's data replaced by any other; the set of people is the same"
_TRUSTS = {
    HEADLIST: "the curator",
    HISTOGRAM: "the curator",
    CLIENTS: "their own device",
}
_ROLES = {HEADLIST: "found the list", HISTOGRAM: "measured it", CLIENTS: "reported on it"}


def code_version() -> str:
    """Return the version of this program."""
    return version("hybriddp")


@dataclass(frozen=True, slots=True)
class Content:
    """What a product publishes: files by name, and the manifest's fields about them."""

    files: Mapping[str, bytes]
    facts: Mapping[str, Any]


def build_manifest(release: Release, publication: Entry, made: Content) -> dict[str, Any]:
    """Describe a publication; everything comes from the ledger and the measurements."""
    reserved, facts = release.reservation, publication.payload
    return {
        "schema_version": version_of(facts),
        "product": reserved["product"],
        "locale": reserved["locale"],
        "epoch": reserved["epoch"],
        "release_id": release.release_id,
        "attempt": release.attempt,
        "revision": facts["revision"],
        "sequence": facts["sequence"],
        "previous": facts["previous"],
        "created": facts["created"],
        "expires": expiry_of(facts),
        "code_version": facts["code_version"],
        "parameters": reserved["parameters"],
        # Version 0.1.0 stated the cap of the reservation.
        "cap": facts.get("cap", reserved["policy"]),
        "measurements": measured_digests(release),
        "ledger": {"seq": publication.seq, "hash": publication.hash},
        "files": {
            name: {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
            for name, data in sorted(made.files.items())
        },
        **made.facts,
    }


def measured_digests(release: Release) -> dict[str, str]:
    """Return the digests of all that a list is made from: measurements, and what was left out."""
    found = {
        group: drawn.payload["sha256"]
        for group in release.reservation["groups"]
        if (drawn := release.state.find(Kind.DRAWN, group)) is not None
    }
    return found | digest_of(release)


def expiry_of(publication: Mapping[str, Any]) -> str:
    """Return until when a publication is valid, from what the ledger says of it."""
    created = datetime.fromisoformat(publication["created"])
    expires = created + timedelta(days=publication["settings"]["valid_days"])
    return expires.isoformat(timespec="seconds")


def version_of(publication: Mapping[str, Any]) -> int:
    """Return the manifest's version of a publication; those of 0.1.0 do not say."""
    return int(publication.get("schema_version", FIRST_SCHEMA))


def head_list_facts(release: Release, tables: Tables) -> dict[str, Any]:
    """Return the fields of a head list's manifest."""
    reserved = release.reservation
    guarantees = guarantees_of(reserved["groups"], head_list_words(reserved["parameters"]))
    reports, listing = load_measurement(release, CLIENTS), published_listing(release)
    guarantees[CLIENTS]["people"] = count_clients(reports, listing, release.params)
    return {
        "guarantees": guarantees,
        "interval_method": strategy_of(facts_of(release)).INTERVAL_METHOD,
        "cross_check": describe_check(cross_check_of(release)),
        "decimals": tables.decimals,
        "rows": {"head_list": tables.head_list.num_rows, "trends": tables.trends.num_rows},
        "masses": {
            "query_wildcards": tables.query_wildcards,
            "other_records": tables.other_records,
            "other_queries": tables.other_queries,
        },
        "blocked_queries": tables.n_blocked,
    }


def count_clients(reports: pa.Table, listing: Listing, params: BlenderParams) -> int:
    """Return how many clients reported; each reports equally many cells."""
    n_reports = int(pc.sum(reports["n_reports"]).as_py())
    mechanism = client_mechanism(listing.head_list, params)
    return n_reports // reports_per_client(mechanism)


def describe_check(check: CrossCheck) -> dict[str, Any]:
    """Return the cross-check in numbers that print the same everywhere."""
    return {
        "records": check.n_records,
        "chi_square": f"{check.chi_square:.3g}",
        "p_value": f"{check.p_value:.3g}",
        "suspicious_records": int(check.is_suspicious.sum()),
    }


def head_list_words(parameters: Mapping[str, Any]) -> Words:
    """Return what is said of each group of a head list."""
    simulated = parameters["clients"] == "simulate"
    trusts = _TRUSTS | ({CLIENTS: "the curator (simulated)"} if simulated else {})
    return words_of(_ROLES, trusts)


def words_of(roles: Mapping[str, str], trusts: Mapping[str, str]) -> Words:
    """Return what is said of each group's promise, whatever the release."""
    return {
        group: {"role": role, "trusts": trusts[group], "neighbours": NEIGHBOURS}
        for group, role in roles.items()
    }


def guarantees_of(groups: Mapping[str, Mapping[str, Any]], words: Words) -> dict[str, Any]:
    """Return what each group was promised, as the ledger charged it."""
    return {
        group: {
            **words[group],
            "people": terms["members"],
            "epsilon_nano": terms["epsilon_nano"],
            "delta_atto": terms["delta_atto"],
        }
        for group, terms in groups.items()
    }


def manifest_bytes(manifest: Mapping[str, Any]) -> bytes:
    """Return the one spelling of a manifest."""
    return canonical_json(manifest)


def signed_bytes(data: bytes) -> bytes:
    """Return what the signature is made on: a signature here means nothing anywhere else."""
    return SIGNING_CONTEXT + data
