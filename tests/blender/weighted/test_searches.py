"""What people give: by hand on three of them, and never more than one person's worth."""

import numpy as np
import pytest

from hybriddp.blender.headlist import HeadList
from hybriddp.blender.weighted.searches import Searches
from hybriddp.blender.weighted.weights import SHARE_UNITS, concentration_of, weight_of
from hybriddp.errors import InvalidParameter


def ids(*values: int) -> np.ndarray:
    return np.array(values, dtype=np.int64)


# Anne: query 1 thrice, of which twice url 1; query 7 once. Bob: nothing. Carl: one unusable record.
THREE = Searches(ids(4, 0, 1), ids(1, 1, 1, 7, -1), ids(1, 2, 1, 1, -1))


def test_each_different_record_gets_the_same_weight_once(rng):
    given = THREE.weights(5, rng=rng)
    assert list(zip(given.query_ids, given.url_ids, strict=True)) == [(1, 1), (1, 2), (7, 1)]
    assert given.counts.tolist() == [weight_of(3)] * 3


def test_nobody_gives_weight_to_more_records_than_allowed(rng):
    """Each of three records is left out in about a third of the tries; 300 miss none of them."""
    left_out = set()
    for _ in range(300):
        given = THREE.weights(2, rng=rng)
        assert given.counts.tolist() == [weight_of(2)] * 2
        left_out.add(3 * 1 + 2 * 1 - sum(given.url_ids) + 100 * sum(given.query_ids))
    assert len(left_out) == 3


def test_shares_are_parts_of_all_records_and_unnamed_urls_lie_on_their_query():
    named = HeadList.from_records(ids(1), ids(1))  # cells: <1,1>, <1,*>, <*,*>
    half, quarter = SHARE_UNITS // 2, SHARE_UNITS // 4
    assert THREE.shares(named).tolist() == [half, quarter, concentration_of(half)]
    everything = HeadList.from_records(ids(1, 1, 7), ids(1, 2, 1))
    concentration = concentration_of(half) + 2 * concentration_of(quarter)
    assert THREE.shares(everything).tolist() == [half, quarter, 0, quarter, 0, concentration]


def test_a_client_has_a_record_or_a_wildcard():
    queries, urls = THREE.firsts()
    assert (queries.tolist(), urls.tolist()) == ([1, -1, -1], [1, -1, -1])


def test_people_are_taken_with_all_that_they_searched():
    some = THREE.of(ids(2, 0))
    assert some.n_records.tolist() == [1, 4]
    assert some.query_ids.tolist() == [-1, 1, 1, 1, 7]


@pytest.mark.property
def test_a_person_never_gives_more_than_the_price_assumes(rng):
    """Whatever people have: weights and shares of each, alone, have their bounded length."""
    for _ in range(50):
        n = int(rng.integers(1, 40))
        person = Searches(ids(n), rng.integers(-1, 4, n), rng.integers(-1, 4, n))
        weights = person.weights(3, rng=rng).counts
        assert (weights**2).sum() <= 1_000**2
        pairs = {(int(q), int(u)) for q, u in zip(person.query_ids, person.url_ids, strict=True)
                 if q >= 0 and u >= 0}  # fmt: skip
        named = [pair for pair in sorted(pairs) if rng.random() < 0.5] or [(9, 9)]
        shares = person.shares(
            HeadList.from_records(*(np.array(part) for part in zip(*named, strict=True)))
        )
        assert shares[:-1].sum() <= SHARE_UNITS
        assert shares[-1] <= concentration_of(SHARE_UNITS)


def test_ids_that_are_nobodys_are_refused():
    with pytest.raises(InvalidParameter, match="those of all people's records"):
        Searches(ids(2), ids(1), ids(1))
