"""Items of people: each once, and at most so many."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybriddp.zealous.items import UserItems

HELD = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 9)), max_size=40)


def columns(pairs):
    return np.array(pairs, np.int64).reshape(-1, 2).T


def rows(items):
    return list(zip(items.users.tolist(), items.items.tolist(), strict=True))


@given(pairs=HELD)
@pytest.mark.parametrize("spread", [1, 2**59])  # of one number, and of two columns
def test_an_item_of_a_user_is_kept_once(pairs, spread):
    pairs = [(user, item * spread) for user, item in pairs]
    assert rows(UserItems.of(*columns(pairs))) == sorted(set(pairs))


@given(
    pairs=HELD,
    items_per_user=st.integers(1, 6),
    first_picks=st.lists(st.integers(0, 2**48 - 1), min_size=5, max_size=5),
)
def test_picking_goes_round_from_the_first_pick(pairs, items_per_user, first_picks):
    expected = []
    for user in range(5):
        own = sorted({item for who, item in pairs if who == user})
        start = first_picks[user] % len(own) if own else 0
        picked = [*own[start:], *own[:start]][:items_per_user]
        expected += [(user, item) for item in sorted(picked)]
    held = UserItems.of(*columns(pairs))
    assert rows(held.picked(items_per_user, np.array(first_picks))) == expected
