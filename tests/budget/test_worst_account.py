"""`ledger show` prices whoever is most exposed, not whoever has the largest sum first."""

from fractions import Fraction

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tasks.budget.showing.worst_account
from hybriddp.accounting.accountants import compose_pld
from hybriddp.accounting.event import to_json
from hybriddp.blender.optin import HistogramMechanism
from hybriddp.mean.events import BoundedSum
from hybriddp.noise.laplace import DiscreteLaplace
from hybriddp.params import Budget
from tasks.budget.policy import Policy, set_policy
from tasks.budget.showing.overview import runway
from tasks.budget.sums.files import file_digest
from tasks.ledger.ledger import Ledger
from tasks.ledger.payloads import DrawStarted, Terms
from tasks.ledger.rules import Kind
from tests.homes import new_home
from tests.rows import reserved

ANNE, BOB = b"a" * 16, b"b" * 16
# The same budget; of the first only noise on few counts is seen, so it composes far better.
PRICE = Budget(Fraction(1, 2))
GENTLE = HistogramMechanism.for_budget(PRICE).event
HARSH = BoundedSum(PRICE, DiscreteLaplace(float(2000 / PRICE.epsilon) * (1 + 1e-9)), 2000)


def charge(home, name, event, accounts, group="sums", attempt=1):
    """Put a drawn release of these people into the ledger."""
    table = pa.table(
        {"account": pa.array(accounts, pa.binary()), "cohort": [group] * len(accounts)}
    )
    path = home.participation / "new.parquet"
    pq.write_table(table.replace_schema_metadata({"name": name}), path)
    digest = file_digest(path)
    path.rename(home.participation / f"{digest}.parquet")
    terms = Terms(epsilon_nano=5 * 10**8, delta_atto=0, members=len(accounts))
    payload = reserved([group], terms, participation=digest, parameters={"strategy": "mean"})
    ledger = Ledger(home.ledger)
    ledger.append(Kind.RESERVED, name, attempt, payload)
    start = DrawStarted(event=to_json(event), token="")
    ledger.append(Kind.DRAW_STARTED, name, attempt, start, draw=group)


@pytest.fixture
def home(tmp_path):
    home = new_home(tmp_path)
    set_policy(Ledger(home.ledger), Policy.of(12, 1e-3, None))
    return home


@pytest.mark.parametrize("order", [(ANNE, BOB), (BOB, ANNE)])
def test_equal_sums_are_priced_by_the_worse_of_their_histories(home, order):
    gentle, harsh = order
    for number in range(12):
        charge(home, f"g{number}", GENTLE, [gentle])
        charge(home, f"h{number}", HARSH, [harsh])
    reach = runway(home, with_pld=True)
    assert reach.largest.epsilon == 6 * 10**9
    better, worse = (compose_pld([event] * 12, 1e-3) for event in (GENTLE, HARSH))
    assert better < 0.8 * worse
    assert (reach.worst.epsilon, reach.worst.is_bound) == (worse, False)


def test_a_smaller_sum_may_be_the_worse_one(home):
    for number in range(12):
        charge(home, f"g{number}", GENTLE, [ANNE])
    for number in range(11):
        charge(home, f"h{number}", HARSH, [BOB])
    assert runway(home, with_pld=True).worst.epsilon == compose_pld([HARSH] * 11, 1e-3)


def test_each_history_is_composed_once_and_the_work_is_bounded(home, monkeypatch):
    for number in range(3):
        charge(home, f"h{number}", HARSH, [bytes([i]) * 16 for i in range(number, 40)])
    composed = []
    original = tasks.budget.showing.worst_account.composed
    monkeypatch.setattr(
        tasks.budget.showing.worst_account,
        "composed",
        lambda e, p: composed.append(len(e)) or original(e, p),
    )
    assert not runway(home, with_pld=True).worst.is_bound
    assert composed == [3], "the others' sums are below what the first composes to"
    runway(home, with_pld=True)
    assert composed == [3], "the ledger has not grown since"
    file = home.private / "composed.json"
    file.write_bytes(file.read_bytes().replace(b'"epsilon":1', b'"epsilon":0'))
    assert runway(home, with_pld=True).worst.epsilon > 1.4
    assert composed == [3, 3], "a damaged note is none"
    file.unlink()
    monkeypatch.setattr(tasks.budget.showing.worst_account, "_MOST_COMPOSED", 0)
    bounded = runway(home, with_pld=True).worst
    assert (bounded.epsilon, bounded.is_bound) == (1.5, True)


def test_a_cap_without_delta_can_be_shown(home):
    set_policy(Ledger(home.ledger), Policy.of(12, 0, None))
    charge(home, "h", HARSH, [ANNE])
    assert runway(home, with_pld=True).worst.epsilon == 0.5
