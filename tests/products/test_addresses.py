"""Addresses in object stores stand where paths may, are shown everywhere, and open nothing."""

import pickle
from pathlib import Path

import pytest
from pydantic import ValidationError

from tasks.log.raw.addresses import Address
from tasks.products.head_list.request import ReleaseRequest
from tasks.products.mean.request import MeanRequest
from tasks.release.refusals import fields_at_fault

SECRET = "planted-secret"


def request_for(log, **asked):
    return ReleaseRequest(**{"log": log, "epoch": "2026-W46", "engine": "spark"} | asked)


def refusal(**asked):
    """Return why settings are refused; neither we nor pydantic quote them."""
    with pytest.raises(ValidationError) as caught:
        request_for(**asked)
    said = fields_at_fault(caught.value)
    assert SECRET not in said + str(caught.value) + repr(caught.value)
    return said


@pytest.mark.parametrize(
    ("text", "owner", "key", "name", "shown"),
    [
        ("s3://b/a/log.tsv", "b", "a/log.tsv", "log.tsv", "s3://b/a/log.tsv"),
        ("S3://b/a/", "b", "a", "a", "s3://b/a"),
        ("s3://b", "b", "", "b", "s3://b"),
        ("s3://b/a b/%3f%23%25.tsv", "b", "a b/?#%.tsv", "?#%.tsv", "s3://b/a b/%3F%23%25.tsv"),
        ("s3://b/é\n", "b", "é\n", "é\n", "s3://b/%C3%A9%0A"),
        ("abfss://c@account.host/x", "c@account.host", "x", "x", "abfss://c@account.host/x"),
        ("hdfs://name:8020/x", "name:8020", "x", "x", "hdfs://name:8020/x"),
    ],
)
def test_an_address_is_read_and_shown(text, owner, key, name, shown):
    address = request_for(text).log
    assert (address.owner, address.key, address.name, str(address)) == (owner, key, name, shown)
    assert request_for(shown).log == address == pickle.loads(pickle.dumps(address))


def test_a_form_keeps_paths_and_addresses_as_they_are():
    for log, kind in (("log.tsv", Path), ("s3://b/x", Address)):
        request = request_for(log, roster=log)
        assert isinstance(request.log, kind)
        assert isinstance(request.roster, kind)
        shown = request.model_dump(mode="json")
        assert (shown["log"], shown["roster"]) == (log, log)
        assert ReleaseRequest.model_validate(shown) == request
    schema = ReleaseRequest.model_json_schema()["properties"]["log"]
    assert (schema["type"], schema["format"]) == ("string", "path")


@pytest.mark.parametrize(
    "log",
    [
        f"s3://user:{SECRET}@b/x", f"s3://{SECRET}@b/x", f"s3://b/x?secret_key={SECRET}",
        f"s3://b/x#{SECRET}", f"abfss://c:{SECRET}@account/x", f"https://{SECRET}/x",
        f"s3:///{SECRET}", f"s3://b//{SECRET}", f"s3://b/{SECRET}%ff", f"s3a://{SECRET}@b",
        f" s3://user:{SECRET}@b/x", f'"s3://user:{SECRET}@b/x"', f"s3:/user:{SECRET}@b/x",
        f"s3:user:{SECRET}@b/x", f"https:/{SECRET}@b/x",
    ],
)  # fmt: skip
def test_what_may_open_a_store_is_refused_and_not_quoted(log):
    assert refusal(log=log).startswith("log: is ")
    assert refusal(log="log.tsv", roster=log).startswith("roster: is ")


def test_duckdb_refuses_addresses_and_says_what_to_do():
    assert "--engine spark" in refusal(log="s3://b/x", engine="duckdb")
    assert "--engine spark" in refusal(log="x.tsv", roster="s3://b/x", engine="duckdb")
    with pytest.raises(ValidationError, match="copy or mount"):
        MeanRequest(log="s3://b/x", epoch="2026-W46", column="a", upper=1)
