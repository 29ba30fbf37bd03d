"""Do the samplers of subset selection obey the law whose privacy was computed? Whole sets too.

The vectorised sampler tells how many reports hold each cell. With one client that is the set
itself; with several it is a sum of independent ones. Both are compared with the law.
"""

import os
from itertools import combinations, product
from math import comb

import numpy as np
import pytest
from scipy import stats

from hybriddp.errors import InvalidParameter
from hybriddp.params import Budget
from hybriddp.randomizers import one_stage as local_subset
from hybriddp.randomizers.one_stage import SubsetMechanism
from hybriddp.randomizers.subset import SubsetResponse
from tests.stats import ALPHA, law_p_value

pytestmark = pytest.mark.statistical

# Sets of 2 of 5 cells: ten different reports.
SMALL = SubsetMechanism(Budget("0.7"), SubsetResponse.of_size(Budget("0.7"), 5, 2))
SETS = list(combinations(range(5), 2))


def law_of_sets(response: SubsetResponse, cell: int) -> np.ndarray:
    """The probability of every set, in the order of `combinations`."""
    k, w, p = response.n_values, response.size, float(response.p_truth)
    return np.array(
        [
            p / comb(k - 1, w - 1) if cell in z else (1 - p) / comb(k - 1, w)
            for z in combinations(range(k), w)
        ]
    )


def sets_p_value(sets: list[tuple[int, ...]], cell: int) -> float:
    observed = np.array([sets.count(z) for z in SETS])
    assert observed.sum() == len(sets), "every report must be a set of two"
    return law_p_value(observed, law_of_sets(SMALL.response, cell))


def support_p_value(response: SubsetResponse, counts: np.ndarray, n: int, cell: int) -> float:
    """Test how many of n reports of one true cell hold each cell: each is binomial by itself."""
    chances = np.full(response.n_values, float(response.p_lie))
    chances[cell] = float(response.p_truth)
    lower, upper = stats.binom.cdf(counts, n, chances), stats.binom.sf(counts - 1, n, chances)
    return float(min(1.0, 2 * np.minimum(lower, upper).min() * response.n_values))


def set_of(counts: np.ndarray) -> tuple[int, ...]:
    assert counts.max() == 1
    return tuple(np.flatnonzero(counts).tolist())


@pytest.fixture
def reports(monkeypatch):
    """The counts of every chunk of a draw, one after the other; chunks of one client are sets."""
    seen: list[np.ndarray] = []
    inner = SubsetMechanism._report_chunk

    def recorded(self, cells, is_marked, random_bytes):
        seen.append(inner(self, cells, is_marked, random_bytes))
        return seen[-1]

    monkeypatch.setattr(SubsetMechanism, "_report_chunk", recorded)
    return seen


def test_vectorised_sets_follow_the_law(rng, monkeypatch, reports):
    """6,000 sets of a cell; the truth kept fifteen points too often is caught."""
    monkeypatch.setattr(local_subset, "_MARKS", 5)
    for cell in (0, 2, 4):
        reports.clear()
        truth = np.full(6_000, cell)
        counts = SMALL.simulate(truth, rng=rng) if cell == 2 else SMALL.draw(truth)
        assert (np.sum(reports, axis=0) == counts).all()
        assert sets_p_value([set_of(one) for one in reports], cell) > ALPHA
    # Planted: the truth kept too often, and a cell that is never randomized.
    for wrong in (
        law_of_sets(SubsetResponse(5, 2, SMALL.response.truth_words + (3 << 64) // 20), 4),
        np.array([1 / 4 if 4 in z else 0 for z in SETS]),
    ):
        planted = rng.choice(len(SETS), 6_000, p=wrong / wrong.sum())
        assert sets_p_value([SETS[i] for i in planted], 4) < ALPHA


def test_device_sets_follow_the_law():
    for cell in (0, 4):
        drawn = [tuple(SMALL.response.draw(cell)) for _ in range(8_000)]
        assert sets_p_value(drawn, cell) > ALPHA


@pytest.mark.parametrize(
    ("epsilon", "n_cells", "n_clients"),
    # Sets of 1, 4, 80 and 33 cells; beyond 4096 cells the sampler uses wider words.
    [(4, 10, 200_000), ("0.5", 10, 200_000), (1, 300, 10_000), (5, 5_000, 3_000)],
)
def test_every_cell_is_reported_as_often_as_the_law_says(epsilon, n_cells, n_clients, rng):
    """First, middle and last cell are true in turn; 200,000 reports show a shift of one point."""
    mechanism = SubsetMechanism.for_cells(Budget(epsilon), n_cells)
    for cell in (0, n_cells // 2, n_cells - 1):
        truth = np.full(n_clients, cell)
        counts = mechanism.draw(truth) if cell else mechanism.simulate(truth, rng=rng)
        assert counts.sum() == n_clients * mechanism.response.size
        assert support_p_value(mechanism.response, counts, n_clients, cell) > ALPHA


def test_support_check_rejects_planted_defects(rng):
    mechanism = SubsetMechanism.for_cells(Budget("0.5"), 10)
    response, n = mechanism.response, 200_000
    loud = SubsetResponse(10, response.size, response.truth_words + (1 << 64) // 100)
    counts = SubsetMechanism(Budget(2), loud).simulate(np.zeros(n, np.int64), rng=rng)
    assert support_p_value(response, counts, n, 0) < ALPHA  # one point too frank
    # Elements are numbered without the client's own cell: not skipping over it shows.
    shifted = mechanism.simulate(np.full(n, 4), rng=rng)
    assert support_p_value(response, shifted, n, 4) > ALPHA
    assert support_p_value(response, shifted, n, 5) < ALPHA
    # Marks that another chunk left behind.
    dirty = np.zeros(n * 10, dtype=bool)
    dirty[::10] = True
    counts = mechanism._report_chunk(np.full(n, 9), dirty, rng.bytes)
    assert support_p_value(response, counts, n, 9) < ALPHA


def scripted(monkeypatch, word: int, answers: tuple[int, ...]) -> None:
    """Let both samplers read the same word and the same answers below each bound."""
    for_device, for_vector = iter(answers), iter(answers)
    monkeypatch.setattr("hybriddp.randomizers.subset.secrets.randbits", lambda bits: word)
    monkeypatch.setattr(
        "hybriddp.randomizers.subset.secrets.randbelow", lambda bound: next(for_device)
    )
    monkeypatch.setattr(
        local_subset, "words_of", lambda n, random_bytes: np.full(n, word, dtype=np.uint64)
    )
    monkeypatch.setattr(
        local_subset,
        "uniform_below",
        lambda bounds, random_bytes: np.array([next(for_vector) for _ in bounds], dtype=np.int64),
    )


@pytest.mark.parametrize("n_cells", [1, 2, 3, 4, 5])
def test_vectorised_set_is_the_devices_for_the_same_randomness(n_cells, monkeypatch):
    """All of the randomness there is: every word that is a border, and every answer after it."""
    for size in range(1, max(n_cells, 2)):
        budget = Budget(1)
        response = (
            SubsetResponse.of_size(budget, n_cells, size)
            if n_cells > 1
            else SubsetResponse.for_budget(budget, 1)
        )
        mechanism = SubsetMechanism(budget, response)
        borders = {0, response.truth_words - 1, response.truth_words, (1 << 64) - 1}
        for word in sorted(borders - {1 << 64}):
            n_chosen = size - (word < response.truth_words)
            bounds = range(n_cells - n_chosen, n_cells)
            for answers, cell in product(product(*map(range, bounds)), range(n_cells)):
                scripted(monkeypatch, word, answers)
                counts = mechanism.draw(np.array([cell]))
                assert list(set_of(counts)) == response.draw(cell)


def test_clients_of_one_chunk_are_independent(rng, monkeypatch, reports):
    """The counts of three clients have the law of the sum of three independent sets."""
    cells = (0, 0, 3)
    indicators = [tuple(int(i in z) for i in range(5)) for z in SETS]
    laws = [law_of_sets(SMALL.response, cell) for cell in cells]
    expected: dict[tuple[int, ...], float] = {}
    for chosen in product(range(len(SETS)), repeat=3):
        total = tuple(np.sum([indicators[i] for i in chosen], axis=0).tolist())
        chance = laws[0][chosen[0]] * laws[1][chosen[1]] * laws[2][chosen[2]]
        expected[total] = expected.get(total, 0.0) + chance
    outcomes = {total: i for i, total in enumerate(expected)}
    monkeypatch.setattr(local_subset, "_MARKS", 3 * 5)
    SMALL.draw(np.array(cells * 10_000))
    drawn = [outcomes[tuple(counts.tolist())] for counts in reports]
    observed = np.bincount(drawn, minlength=len(outcomes))
    assert law_p_value(observed, np.array(list(expected.values()))) > ALPHA
    # Planted: clients of one cell who share their randomness report the same set.
    same = rng.choice(len(SETS), 10_000, p=laws[0])
    third = rng.choice(len(SETS), 10_000, p=laws[2])
    copied = [
        outcomes[tuple((2 * np.array(indicators[i]) + indicators[j]).tolist())]
        for i, j in zip(same, third, strict=True)
    ]
    observed = np.bincount(copied, minlength=len(outcomes))
    assert law_p_value(observed, np.array(list(expected.values()))) < ALPHA


@pytest.mark.parametrize("chunk", [1, 7, 19, 20, 21])
def test_nobody_is_left_out_at_the_border_of_a_chunk(chunk, monkeypatch):
    """With nearly no noise (one report in e^40 lies), twenty clients report their own cells."""
    mechanism = SubsetMechanism(Budget(45), SubsetResponse.of_size(Budget(45), 20, 1))
    monkeypatch.setattr(local_subset, "_MARKS", chunk * 20)
    assert mechanism.draw(np.arange(20)).tolist() == [1] * 20
    assert mechanism.draw(np.array([3] * 20)).tolist() == [0] * 3 + [20] + [0] * 16


def test_chunks_leave_no_marks_behind(monkeypatch, rng):
    """Fifty chunks on the same marks follow the same law as one."""
    mechanism = SubsetMechanism.for_cells(Budget("0.5"), 10)
    monkeypatch.setattr(local_subset, "_MARKS", 1_000 * 10)
    n = 49_700  # the last chunk is not full
    counts = mechanism.simulate(np.full(n, 9), rng=rng)
    assert support_p_value(mechanism.response, counts, n, 9) > ALPHA
    marks = np.zeros(10_000, dtype=bool)
    mechanism._report_chunk(np.full(1_000, 9), marks, os.urandom)
    assert not marks.any()


def test_only_cell_is_always_reported():
    alone = SubsetMechanism.for_cells(Budget(1), 1)
    assert alone.draw(np.zeros(1_000, np.int64)).tolist() == [1_000]
    assert alone.draw(np.zeros(0, np.int64)).tolist() == [0]
    assert SMALL.draw(np.zeros(0, np.int64)).tolist() == [0] * 5


def test_same_seed_gives_the_same_reports_and_a_draw_never_the_same():
    cells = np.arange(5).repeat(200)
    first, same = (SMALL.simulate(cells, rng=np.random.default_rng(1)) for _ in range(2))
    assert first.tolist() == same.tolist()
    # Counts of a thousand reports agree in five cells with probability below 1e-4 each time.
    assert len({tuple(SMALL.draw(cells).tolist()) for _ in range(10)}) > 5


@pytest.mark.parametrize("cells", [[-1], [5], [[0, 0]], 3])
def test_cells_outside_the_list_are_refused_without_quoting_them(cells):
    with pytest.raises(InvalidParameter, match="cells must") as caught:
        SMALL.draw(np.array(cells))
    assert "got -1" not in str(caught.value)
    assert "got 5" not in str(caught.value)


def test_mechanism_refuses_a_response_beyond_its_budget():
    with pytest.raises(InvalidParameter, match="budget that is charged"):
        SubsetMechanism(Budget("0.69"), SMALL.response)
    assert SubsetMechanism.for_cells(Budget(1, "1e-5"), 7).event.budget == Budget(1)
