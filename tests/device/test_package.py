"""Devices read what the curator signed, in its one form, and nothing else."""

import json
import os
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from hybriddp.device import package as package_module
from hybriddp.device.curator import CuratorStatement, Loss
from hybriddp.device.package import CollectionPackage, canonical_json, read_package, signed_bytes
from hybriddp.errors import HybridDPError, InvalidParameter
from hybriddp.params import BlenderParams

CURATOR = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
PUBLIC_KEY = CURATOR.public_key().public_bytes_raw()
STATEMENT = CuratorStatement(7, "ab" * 32, Loss(12, "1/10000"))


def make_package(**changes) -> CollectionPackage:
    fields = {
        "release_id": "0123456789abcdef",
        "product": "blender",
        "epoch": "2026-W46",
        "locale": "en-US",
        "params": BlenderParams(4, "1e-5"),
        "head_list": (("caf\u00e9", ("http://a/X", "http://b")), ("news", ())),
        "curator": STATEMENT,
    }
    return CollectionPackage(**{**fields, **changes})


def publish(directory: Path, package: CollectionPackage) -> Path:
    """Write the package as a curator does."""
    directory.mkdir(exist_ok=True)
    data = package.to_bytes()
    (directory / "package.json").write_bytes(data)
    (directory / "package.sig").write_bytes(CURATOR.sign(signed_bytes(data)))
    return directory


def test_package_has_one_form():
    assert make_package().to_bytes() == (
        b'{"epoch":"2026-W46","head_list":[{"query":"caf\\u00e9","urls":["http://a/X","http://b"]},'
        b'{"query":"news","urls":[]}],"ledger":{"hash":"' + b"ab" * 32 + b'","seq":7},'
        b'"lifetime_cap":{"delta":"1/10000","epsilon":"12"},'
        b'"locale":"en-US","normalisation":"nfc-lower-space-1","opted_in_people":"stay silent",'
        b'"parameters":{"client_report":"two-stage","delta":"1/100000","epsilon":"4",'
        b'"headlist_user_fraction":"19/20","max_head_size":50,"max_records_client":1,'
        b'"max_records_optin":1,"query_budget_fraction":"17/20"},'
        b'"product":"blender","release_id":"0123456789abcdef","schema_version":3,'
        b'"strategy":"paper"}\n'
    )


def test_packages_of_version_0_1_0_have_their_old_form():
    old = (
        b'{"epoch":"2026-W46","head_list":[{"query":"caf\\u00e9","urls":["http://a/X","http://b"]},'
        b'{"query":"news","urls":[]}],"locale":"en-US","normalisation":"nfc-lower-space-1",'
        b'"parameters":{"client_report":"two-stage","delta":"1/100000","epsilon":"4",'
        b'"headlist_user_fraction":"19/20","max_head_size":50,"max_records_client":1,'
        b'"max_records_optin":1,"query_budget_fraction":"17/20"},'
        b'"product":"blender","release_id":"0123456789abcdef","schema_version":2,'
        b'"strategy":"paper"}\n'
    )
    assert make_package(curator=None).to_bytes() == old
    assert CollectionPackage.from_bytes(old) == make_package(curator=None)


def test_reading_gives_back_what_was_written_exactly():
    params = BlenderParams(
        "0.1", Fraction(1, 3 * 10**300), max_head_size=2, headlist_user_fraction="1/3",
        query_budget_fraction="2/7", max_records_client=3,
    )  # fmt: skip
    ours = BlenderParams(2, strategy="high-utility", headlist_user_fraction=1)
    exact = BlenderParams(2, strategy="high-utility", client_report="two-stage-exact")
    packages = [make_package(params=chosen) for chosen in (params, ours, exact)]
    packages.append(make_package(curator=replace(STATEMENT, lifetime_cap=None)))
    for package in (make_package(), *packages, make_package(head_list=())):
        assert CollectionPackage.from_bytes(package.to_bytes()) == package
    assert list(make_package().head_list_mapping().items()) == [
        ("caf\u00e9", ("http://a/X", "http://b")), ("news", ()),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("path", "value", "rule"),
    [
        (["extra"], 1, "keys"),
        (["parameters", "extra"], 1, "keys"),
        (["head_list", 0, "extra"], 1, "keys"),
        (["parameters"], [], "keys"),
        (["head_list", 0], "caf\u00e9", "keys"),
        (["schema_version"], True, "schema_version must be one of 2, 3, 4"),
        (["schema_version"], 1, "schema_version must be one of 2, 3, 4"),
        (["schema_version"], 2, "got 0 missing and 3 unknown"),
        (["schema_version"], 2.0, "schema_version must be one of 2, 3, 4"),
        (["opted_in_people"], "report", "opted_in_people must be 'stay silent'"),
        (["ledger"], None, "ledger must be an object"),
        (["ledger", "seq"], 0, "ledger must be a row's number"),
        (["ledger", "seq"], 2**63, "ledger must be a row's number"),
        (["ledger", "seq"], True, "ledger must be a row's number"),
        (["ledger", "hash"], "AB" * 32, "ledger must be a row's number"),
        (["ledger", "hash"], 7, "ledger must be a row's number"),
        (["lifetime_cap"], {}, "lifetime_cap must be an object"),
        (["lifetime_cap", "epsilon"], 12, "epsilon must be a text"),
        (["lifetime_cap", "epsilon"], "24/2", "canonical"),
        (["lifetime_cap", "delta"], "-1", "delta must be a text"),
        (["strategy"], "magic", "strategy must be one of"),
        (["strategy"], ["paper"], "strategy must be one of"),
        (["parameters", "client_report"], "three-stage", "client_report must be one of"),
        (["parameters", "client_report"], "one-stage", "must be two-stage in strategy `paper`"),
        (["parameters", "max_records_optin"], 5, "must be 1 in strategy `paper`"),
        (["normalisation"], "nfc-lower-space-2", "normalisation must be"),
        (["release_id"], "0123456789ABCDEF", "release_id must"),
        (["release_id"], 123, "release_id must"),
        (["product"], "../blender", "product must"),
        (["epoch"], "", "epoch must"),
        (["locale"], "en-US\n", "locale must"),
        (["parameters", "epsilon"], 4, "epsilon must be a text"),
        (["parameters", "epsilon"], "0", "epsilon must be above 0"),
        (["parameters", "epsilon"], "8/2", "canonical"),
        (["parameters", "delta"], "1e-5", "delta must be a text"),
        (["parameters", "delta"], "1/0", "delta must be a finite number"),
        (["parameters", "query_budget_fraction"], "1", "query_budget_fraction must"),
        (["parameters", "query_budget_fraction"], "9" * 400, "query_budget_fraction must"),
        (["parameters", "headlist_user_fraction"], "9" * 1000, "headlist_user_fraction must"),
        (["parameters", "epsilon"], "9" * 1000, "epsilon must be above 0 and at most 50"),
        (["parameters", "max_head_size"], True, "max_head_size must be a whole number"),
        (["parameters", "max_head_size"], 1, "number of queries must be at most 1"),
        (["parameters", "max_records_client"], 0, "max_records_client must"),
        (["parameters", "max_records_client"], 10**9, "max_records_client must be at most"),
        (["head_list"], {}, "head_list must be a list"),
        (["head_list", 0, "urls"], "http://a/X", "urls must be a list"),
        (["head_list", 0, "urls", 0], 7, "urls of a query must be texts"),
        (["head_list", 0, "urls", 0], " http://a", "urls of a query must be texts normalised"),
        (["head_list", 0, "urls", 0], "http://b", "urls of a query must be different"),
        (["head_list", 0, "query"], ["news"], "queries must be texts"),
        (["head_list", 0, "query"], "News", "queries must be texts normalised"),
        (["head_list", 0, "query"], "cafe\u0301", "queries must be texts normalised"),
        (["head_list", 0, "query"], "\ud800", "queries must be texts normalised"),
        (["head_list", 0, "query"], "news", "queries must be different"),
    ],
)
def test_anything_but_a_package_is_refused(path, value, rule):
    contents = json.loads(make_package().to_bytes())
    target = contents
    for step in path[:-1]:
        target = target[step]
    target[path[-1]] = value
    assert_refused(canonical_json(contents), rule)


def assert_refused(data: bytes, rule: str) -> None:
    with pytest.raises(HybridDPError, match=rule) as caught:
        CollectionPackage.from_bytes(data)
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None or caught.value.__suppress_context__
    assert len(str(caught.value)) < 500


@pytest.mark.parametrize("key", sorted(json.loads(make_package().to_bytes())))
def test_missing_key_is_refused(key):
    contents = json.loads(make_package().to_bytes())
    del contents[key]
    assert_refused(canonical_json(contents), "keys .* got 1 missing and 0 unknown")


@pytest.mark.parametrize(
    ("spoil", "rule"),
    [
        (lambda data: b"", "must be JSON"),
        (lambda data: b"\xff" + data, "must be JSON"),
        (lambda data: b"[" * 100_000, "must be JSON"),
        (lambda data: b"9" * 5_000, "must be JSON"),
        (lambda data: b"null", "keys"),
        (lambda data: data + b"\n", "canonical"),
        (lambda data: data[:-1], "canonical"),
        (lambda data: data.replace(b'":', b'": '), "canonical"),
        (lambda data: data.replace(b"{", b'{"epoch":"2026-W45",', 1), "canonical"),  # a key twice
        (lambda data: data.decode().encode("utf-16"), "canonical"),
        (lambda data: data + b" " * (16 * 2**20), "at most 16777216 bytes"),
    ],
)
def test_other_forms_of_the_same_file_are_refused(spoil, rule):
    assert_refused(spoil(make_package().to_bytes()), rule)


def test_curator_cannot_write_what_devices_would_refuse():
    for change in ({"release_id": "x"}, {"head_list": (("News", ()),)}, {"locale": ""}):
        with pytest.raises(InvalidParameter):
            make_package(**change)
    with pytest.raises(InvalidParameter, match="at most 16777216 bytes"):
        make_package(head_list=(("x" * 16 * 2**20, ()),)).to_bytes()


def test_signed_package_is_read(tmp_path):
    directory = publish(tmp_path / "collection", make_package())
    assert read_package(directory, PUBLIC_KEY) == make_package()
    assert read_package(str(directory), PUBLIC_KEY) == make_package()


def test_a_package_that_was_taken_down_is_refused_with_words(tmp_path):
    """Whoever put the notice there: at worst a device keeps silent."""
    directory = publish(tmp_path, make_package())
    (directory / "withdrawn.json").write_text("{}")
    with pytest.raises(InvalidParameter, match="no longer takes reports on it; do not report"):
        read_package(directory, PUBLIC_KEY)


def with_pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def resign(directory: Path, message: bytes) -> None:
    (directory / "package.sig").write_bytes(CURATOR.sign(message))


@pytest.mark.parametrize(
    ("spoil", "rule"),
    [
        (lambda d, data: resign(d, data), "must be the signature"),  # without its context
        (
            lambda d, data: resign(d, b"hybriddp manifest v1\n" + data),
            "must be the signature",
        ),
        (
            lambda d, data: (d / "package.json").write_bytes(data.replace(b'"4"', b'"8"')),
            "must be the signature",
        ),
        (lambda d, data: (d / "package.sig").write_bytes(b"\0" * 63), "must be the signature"),
        (lambda d, data: (d / "package.sig").write_bytes(b"\0" * 65), "package.sig must hold"),
        (lambda d, data: (d / "package.sig").unlink(), "package.sig must be readable"),
        (lambda d, data: (d / "package.json").unlink(), "package.json must be readable"),
        (lambda d, data: with_pipe(d / "package.json"), "must be a file, got something else"),
        (lambda d, data: with_pipe(d / "package.sig"), "must be a file, got something else"),
    ],
)
def test_package_without_the_curators_signature_is_refused(tmp_path, spoil, rule):
    directory = publish(tmp_path, make_package())
    spoil(directory, make_package().to_bytes())
    with pytest.raises(HybridDPError, match=rule) as caught:
        read_package(directory, PUBLIC_KEY)
    assert caught.value.__cause__ is None


def test_other_keys_are_refused(tmp_path):
    directory = publish(tmp_path, make_package())
    stranger = Ed25519PrivateKey.from_private_bytes(bytes(32)).public_key().public_bytes_raw()
    with pytest.raises(InvalidParameter, match="must be the signature"):
        read_package(directory, stranger)
    with pytest.raises(InvalidParameter, match="32 raw bytes"):
        read_package(directory, PUBLIC_KEY.hex().encode())


def test_nothing_is_parsed_before_the_signature_is_checked(tmp_path, monkeypatch):
    directory = publish(tmp_path, make_package())
    (directory / "package.json").write_bytes(b"not JSON")
    with pytest.raises(InvalidParameter, match="must be the signature"):
        read_package(directory, PUBLIC_KEY)
    steps = []
    parse = package_module.json.loads
    monkeypatch.setattr(
        package_module.json, "loads", lambda data: steps.append("parsed") or parse(data)
    )

    def verify(*arguments: bytes) -> bool:
        steps.append(arguments)
        return True

    data = publish(directory, make_package()).joinpath("package.json").read_bytes()
    read_package(directory, PUBLIC_KEY, verify=verify)
    assert steps == [
        (PUBLIC_KEY, b"hybriddp collection package v1\n" + data, CURATOR.sign(signed_bytes(data))),
        "parsed",
    ]


def test_injected_check_must_say_true(tmp_path):
    """A check that returns nothing, because it would have raised, is taken for a no."""
    directory = publish(tmp_path, make_package())
    for answer in (False, None, 1):
        with pytest.raises(InvalidParameter, match="must be the signature"):
            read_package(directory, PUBLIC_KEY, verify=lambda *_, a=answer: a)
