"""The opt-in histogram's law, enumerated on small logs.

First one record a user, as in the paper; then several on the clients' cells, with their repeats.
"""

import math
from collections.abc import Callable
from itertools import combinations_with_replacement, product

import numpy as np
import pytest

from hybriddp.blender.estimation.paper import estimate_optin
from hybriddp.blender.events import OptinHistogram
from hybriddp.blender.evidence.counted import read_measured
from hybriddp.blender.headlist import HeadList
from hybriddp.blender.mechanisms import count_units, measured_vector, measuring_mechanism
from hybriddp.blender.optin import HistogramMechanism, count_listed_records
from hybriddp.errors import InvalidParameter
from hybriddp.noise.laplace import DiscreteLaplace
from hybriddp.params import BlenderParams, Budget

pytestmark = pytest.mark.exact

# <0,0> is listed, <0,1> is a known query with an unknown url, <1,0> is unknown, <-1,-1> nothing.
RECORDS = ((0, 0), (0, 1), (1, 0), (-1, -1))
HEAD_LIST = HeadList.from_records(np.array([0, 2]), np.array([0, 0]))


def counts_of(log: tuple[tuple[int, int], ...]) -> np.ndarray:
    queries, urls = np.array(log).T
    return count_listed_records(HEAD_LIST, queries, urls)


def worst_log_ratio(noise: DiscreteLaplace) -> float:
    """Return the largest log-ratio of the histogram's law over neighbouring logs of three users.

    Cells are independent, so the worst output is the worst of each cell; a window of 12 around
    the counts contains it, since the discrete Laplace's log-ratio is constant outside.
    """
    window = np.arange(-12, 16)
    worst = 0.0
    for rest in combinations_with_replacement(RECORDS, 2):
        histograms = [counts_of((*rest, record)) for record in RECORDS]
        for n, m in product(histograms, histograms):
            ratios = np.log(noise.pmf(window - n[:, None]) / noise.pmf(window - m[:, None]))
            worst = max(worst, float(ratios.max(axis=1).sum()))
    return worst


@pytest.mark.parametrize("epsilon", ["0.1", "0.5", "1", "4"])
def test_histogram_keeps_its_budget_on_small_logs(epsilon):
    mechanism = HistogramMechanism.for_budget(Budget(epsilon))
    loss = worst_log_ratio(mechanism.noise)
    assert loss <= float(epsilon) + 1e-12
    assert loss == pytest.approx(float(epsilon), rel=1e-9), "the bound is reached"
    assert worst_log_ratio(DiscreteLaplace(mechanism.noise.scale / 2)) > float(epsilon)


def test_variance_of_two_users_by_hand():
    """p(1-p)/(n-1) + Var(Y)/(n(n-1)): where n is 2, a forgotten Bessel factor is one of two."""
    estimate = estimate_optin(np.array([1, 1]), 2, noise_variance=0.36)
    assert estimate.values.tolist() == [0.5, 0.5]
    assert estimate.variances == pytest.approx([0.25 / 1 + 0.36 / 2] * 2)


def test_every_user_is_counted_once_and_wildcards_take_the_rest():
    assert counts_of(RECORDS).tolist() == [1, 0, 3]


def test_law_of_the_noise_sums_to_one_and_matches_its_tail_and_variance():
    for scale in (0.2, 0.5, 2.0, 20.0):
        noise = DiscreteLaplace(scale)
        reach = math.ceil(50 * scale)
        support = np.arange(-reach, reach + 1)
        pmf = noise.pmf(support)
        assert pmf.sum() == pytest.approx(1, abs=1e-12)
        assert (pmf * support**2).sum() == pytest.approx(noise.variance, rel=1e-9)
        assert np.cumsum(pmf[::-1])[::-1] == pytest.approx(noise.tail(support), rel=1e-6, abs=1e-18)


def test_histogram_refuses_noise_beyond_its_budget():
    with pytest.raises(InvalidParameter, match="noise must cost at most epsilon = 4"):
        HistogramMechanism(Budget(4), DiscreteLaplace(0.49))


# Several records a user, on the clients' cells: <0,0>, <0,*>, <2,0>, <2,*> and <*,*>.

UNIT_RECORDS = ((0, 0), (2, 0), (0, 1), (1, 0))  # two listed records, <0,*> and <*,*>


def params_of(records_per_user: int, epsilon: object = 4) -> BlenderParams:
    return BlenderParams(epsilon, strategy="high-utility", max_records_optin=records_per_user)


def vector_of(users: list[tuple[tuple[int, int], ...]]) -> np.ndarray:
    """What noise is added to, for users with their units in order."""
    ids = np.array(users)
    exact = count_units(HEAD_LIST, ids[:, :, 0], ids[:, :, 1])
    return measured_vector(params_of(ids.shape[1]), *exact)


def repeats_of(user: tuple[tuple[int, int], ...]) -> int:
    return user.count(user[0]) if user[0] in ((0, 0), (2, 0)) else 0


def slow_vector(users: list[tuple[tuple[int, int], ...]]) -> list[int]:
    """The same, written as plainly as possible."""
    names = [(0, 0), (0, None), (2, 0), (2, None), (None, None)]
    cells = [0] * len(names)
    for user in users:
        for query, url in user:
            if (query, url) in names:
                cells[names.index((query, url))] += 1
            elif query in (0, 2):
                cells[names.index((query, None))] += 1
            else:
                cells[-1] += 1
    repeats = sum(repeats_of(user) for user in users)
    return cells if len(users[0]) == 1 else [*cells, repeats]


@pytest.mark.parametrize("m", [1, 2, 3])
def test_units_and_repeats_are_those_of_a_plain_loop(m):
    users = list(product((*UNIT_RECORDS, (-1, -1), (2, 7)), repeat=m))
    for user in users:
        assert vector_of([user]).tolist() == slow_vector([user])
    assert vector_of(users).tolist() == slow_vector(users)
    assert vector_of(users)[:5].sum() == m * len(users), "every unit is on one cell"


def worst_move(vector: Callable[[list], np.ndarray], m: int) -> int:
    """The largest L1 distance of the vectors of two users, over all orders of all units."""
    vectors = np.array([vector([user]) for user in product(UNIT_RECORDS, repeat=m)])
    return int(np.abs(vectors[:, None] - vectors[None, :]).sum(axis=-1).max())


@pytest.mark.parametrize(("m", "moved"), [(1, 2), (2, 6), (3, 9), (4, 12)])
def test_replacing_a_user_moves_the_measured_vector_by_three_units_a_record(m, moved):
    """Reached by m times one listed record against m times none; m = 1 has no repeats."""
    assert worst_move(vector_of, m) == moved
    assert measuring_mechanism(params_of(m)).l1_sensitivity == moved

    # Planted: the repeats of every unit instead of one; then all pairs count, and m^2 may move.
    def all_repeats(users):
        pairs = sum(u.count(r) for u in users for r in u if r in ((0, 0), (2, 0)))
        return np.append(vector_of(users), pairs)

    assert worst_move(all_repeats, m) > moved


@pytest.mark.parametrize("m", [2, 3])
@pytest.mark.parametrize("epsilon", ["0.5", "4"])
def test_histogram_of_units_keeps_its_budget(m, epsilon):
    """The worst log-ratio over all pairs of users, next to others that do not change."""
    noise = measuring_mechanism(params_of(m, epsilon)).noise
    rest = vector_of([((0, 0),) * m, ((2, 0),) * m])
    vectors = [rest + vector_of([user]) for user in product(UNIT_RECORDS, repeat=m)]
    window = np.arange(-30, 40)

    def worst_loss(noise: DiscreteLaplace) -> float:
        log_law = np.log([noise.pmf(window[:, None] - vector) for vector in vectors])
        # Cells are independent, so the worst output is the worst of each cell.
        return float((log_law[:, None] - log_law[None, :]).max(axis=2).sum(axis=-1).max())

    assert worst_loss(noise) <= float(epsilon) + 1e-12
    assert worst_loss(noise) == pytest.approx(float(epsilon), rel=1e-9), "the bound is reached"
    # Planted: noise for the cells alone, without the repeats.
    forgotten = DiscreteLaplace.for_epsilon(Budget(epsilon).epsilon, 2 * m)
    assert worst_loss(forgotten) == pytest.approx(1.5 * float(epsilon), rel=1e-9)
    with pytest.raises(InvalidParameter, match="raise the scale"):
        OptinHistogram(Budget(epsilon), forgotten.scale, 3 * m)


def test_sensitivity_is_part_of_the_price():
    mechanism = HistogramMechanism.for_budget(Budget(4, "1e-5"), 15)
    assert mechanism.event == OptinHistogram(Budget(4), mechanism.noise.scale, 15)
    assert mechanism.noise.scale == pytest.approx(15 / 4)
    with pytest.raises(InvalidParameter, match="raise the scale"):
        HistogramMechanism(Budget(4), mechanism.noise, 16)
    for no_count in (0, -2, 2.0, True, np.int64(3)):
        with pytest.raises(InvalidParameter, match="l1_sensitivity must be a whole number"):
            OptinHistogram(Budget(4), 100.0, no_count)


@pytest.mark.parametrize("m", [1, 5])
def test_measured_vector_is_taken_apart_as_it_was_put_together(m):
    units, repeats = np.arange(7), 99
    read = read_measured(params_of(m), measured_vector(params_of(m), units, repeats), 40)
    assert read.noisy_units.tolist() == units.tolist()
    assert (read.repeats, read.n_users) == (99 if m > 1 else 0, 40)
