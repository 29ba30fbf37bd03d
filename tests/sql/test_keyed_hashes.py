"""HMAC spelled out in SQL is Python's HMAC: accounts and groups can be found again without SQL."""

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.budget.accounts import account_of
from tasks.log.engine import DuckDBEngine
from tasks.log.ids import canonical
from tasks.products.head_list.measuring.cohorts import assign_groups
from tasks.products.head_list.request import ReleaseRequest
from tasks.products.head_list.run import HeadListRun
from tasks.store.keys import Keyring, make_keys
from tests.engines import empty_database
from tests.examples import few
from tests.homes import new_home

# As `members` has them: in their one form, and not empty.
PERSONS = st.lists(st.text(min_size=1).map(canonical).filter(bool), unique=True)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    home = new_home(tmp_path_factory.mktemp("home"))
    make_keys(home)
    request = ReleaseRequest(log="log.tsv", epoch="2026-W46", product="mail", locale="de-CH")
    return HeadListRun(home, "0" * 32, 1, request)


@pytest.mark.property
@settings(max_examples=few(10, in_a_campaign=200))
@given(PERSONS)
def test_hashes_are_pythons(run, persons):
    keys = Keyring.open(run.home)
    members = pa.table(
        {
            "person": pa.array(persons, pa.string()),
            "is_optin": pa.array([False] * len(persons), pa.bool_()),
        }
    )
    with empty_database() as connection:
        engine = DuckDBEngine(connection)
        engine.put("members", members)
        assign_groups(engine, run)
        accounts = {row["person"]: row for row in engine.fetch("accounts").to_pylist()}
    assert accounts.keys() == set(persons)
    for person, row in accounts.items():
        name = person.encode()
        assert row["account"] == account_of(keys, person) == account_of(keys, f" {person} ")
        assert row["person_hash"] == keys.cohort.digest(b"person/" + name)
        assert row["epoch_hash"] == keys.cohort.digest(b"epoch/mail/2026-W46/de-CH/" + name)
