"""Any interleaving of reservations, draws, clocks and policies, on fresh seeds, against plain sums.

A hundred runs take minutes, so they are part of `make campaign` and not of `make test`.
"""

import os
import random

import pytest

from tasks.budget.policy import Policy, set_policy
from tasks.ledger.check import check_ledger
from tests.ledger.test_window import PRICE, Curator, clock, home  # noqa: F401 - fixtures

SEED = os.environ.get("HYBRIDDP_TEST_SEED", "20261116")


@pytest.mark.parametrize("number", range(100))
def test_no_interleaving_lets_anybody_exceed_the_cap(home, clock, number):  # noqa: F811
    curator = Curator(home, clock, random.Random(f"{SEED}/{number}"))
    set_policy(curator.ledger, Policy(PRICE, 30))
    for _ in range(40):
        curator.act()
    check_ledger(home)
