"""Do the clients' samplers obey the law whose privacy was computed? Every cell, both samplers."""

import numpy as np
import pytest

from hybriddp.blender.headlist import HeadList
from hybriddp.client import Client
from hybriddp.errors import InvalidParameter
from hybriddp.params import BlenderParams
from hybriddp.randomizers.two_stage import ClientMechanism
from tests.stats import ALPHA, law_p_value

pytestmark = pytest.mark.statistical

# Three queries with 2, 1 and 3 urls; with wildcards 3, 2, 4 and 1 cells: 10 in all.
HEAD_LIST = HeadList(np.array([0, 1, 2]), np.array([2, 1, 3]), np.array([0, 1, 0, 0, 1, 2]))
NAMES = {"a": ["a0", "a1"], "b": ["b0"], "c": ["c0", "c1", "c2"]}
PARAMS = BlenderParams(3, "1e-5", query_budget_fraction=0.6)
MECHANISM = ClientMechanism.for_head_list(HEAD_LIST, PARAMS)
RECORD_OF_CELL = [
    ("a", "a0"), ("a", "a1"), ("a", "?"), ("b", "b0"), ("b", "?"),
    ("c", "c0"), ("c", "c1"), ("c", "c2"), ("c", "?"), ("?", "?"),
]  # fmt: skip


def exact_law(cell: int) -> np.ndarray:
    query = int(np.searchsorted(HEAD_LIST.cell_starts, cell, side="right")) - 1
    return np.array(
        [float(p) for p in MECHANISM.response.pmf(query, cell - HEAD_LIST.cell_starts[query])]
    )


def law_p_values(reports_by_cell: dict[int, np.ndarray]) -> list[float]:
    return [
        law_p_value(np.bincount(reports, minlength=10), exact_law(cell))
        for cell, reports in reports_by_cell.items()
    ]


def test_vectorised_reports_follow_the_exact_law(rng):
    """300,000 reports of each true cell; a shift of one percentage point is caught."""
    truth = np.repeat(np.arange(10), 300_000)
    for reports in (MECHANISM.draw(truth), MECHANISM.simulate(truth, rng=rng)):
        by_cell = dict(enumerate(reports.reshape(10, -1)))
        assert min(law_p_values(by_cell)) > ALPHA


def test_device_reports_follow_the_exact_law():
    """10,000 reports of each true cell through strings; a shift of five points is caught."""
    client = Client(NAMES, PARAMS)
    by_cell = {
        cell: np.array([client.report([record])[0] for _ in range(10_000)])
        for cell, record in enumerate(RECORD_OF_CELL)
    }
    assert min(law_p_values(by_cell)) > ALPHA


def test_law_check_rejects_planted_defects(rng):
    n = 300_000
    # Truth and lie exchanged in the query stage.
    swapped = exact_law(0)
    swapped[:3] *= float(MECHANISM.response.query.p_lie / MECHANISM.response.query.p_truth)
    swapped[3:] *= (1 - swapped[:3].sum()) / swapped[3:].sum()
    # The last url of a query is never randomized.
    frank = exact_law(7)
    frank[5:9] = [0, 0, frank[5:9].sum(), 0]
    # A "uniform other query" that may be the true one.
    sloppy = exact_law(3) * float(MECHANISM.response.query.p_truth)
    sloppy += (1 - sloppy.sum()) * np.repeat(1 / 4 / HEAD_LIST.list_sizes, HEAD_LIST.list_sizes)
    for cell, defect in ((0, swapped), (7, frank), (3, sloppy)):
        observed = rng.multinomial(n, defect)
        assert defect.sum() == pytest.approx(1)
        assert law_p_value(observed, exact_law(cell)) < ALPHA


SHARED = BlenderParams(6, "1e-5", query_budget_fraction=0.6, max_records_client=2)


def test_every_one_of_several_reports_is_randomized():
    """Half the budget each: with twice the epsilon, both reports have the law of one above."""
    mechanism = ClientMechanism.for_head_list(HEAD_LIST, SHARED)
    assert mechanism.event.n_reports == 2
    law = [float(p) for p in mechanism.response.pmf(0, 1)]
    reports = mechanism.draw(np.full((100_000, 2), 1))
    for column in reports.T:
        assert law_p_value(np.bincount(column, minlength=10), np.array(law)) > ALPHA
    with pytest.raises(InvalidParameter, match="exactly 2 for each client"):
        mechanism.draw(np.zeros(4, np.int64))
    with pytest.raises(InvalidParameter, match="budget that is charged"):
        ClientMechanism(SHARED.budget, mechanism.response, n_reports=3)


def test_padding_is_randomized_like_any_record():
    client = Client(NAMES, SHARED)
    mechanism = ClientMechanism.for_head_list(HEAD_LIST, SHARED)
    law = np.array([float(p) for p in mechanism.response.pmf(3, 0)])
    reports = np.array([client.report([]) for _ in range(10_000)])
    for column in reports.T:
        assert law_p_value(np.bincount(column, minlength=10), law) > ALPHA


def test_chunks_share_no_randomness_and_leave_nobody_out():
    from hybriddp.randomizers.two_stage import _CHUNK

    truth = np.zeros(2 * _CHUNK + _CHUNK // 2, np.int64)
    reports = MECHANISM.draw(truth)
    first, second, rest = np.split(reports, [_CHUNK, 2 * _CHUNK])
    assert (first != second).any()
    for part in (first, second, rest):
        assert law_p_value(np.bincount(part, minlength=10), exact_law(0)) > ALPHA


def test_vectorised_words_have_the_owners_of_the_device(monkeypatch):
    """Word by word, at every border: the first and last word of each lie and of the truth."""
    from hybriddp.randomizers.two_stage import _lies

    stage = MECHANISM.response.query
    borders = [i * stage.lie_words + d for i in range(stage.n_values) for d in (-1, 0)]
    words = np.array([w for w in [*borders, (1 << 64) - 1] if w >= 0], dtype=np.uint64)
    owners = _lies(words, np.uint64(stage.lie_words), stage.n_values - 1)
    for word, owner in zip(words.tolist(), owners.tolist(), strict=True):
        monkeypatch.setattr(
            "hybriddp.randomizers.response.secrets.randbits", lambda bits, w=word: w
        )
        assert stage.draw(stage.n_values - 1) == owner  # the last value is nobody's to skip


def test_list_with_a_url_twice_is_refused():
    with pytest.raises(InvalidParameter, match="urls must be different"):
        Client({"a": ["x", "x"]}, PARAMS)


def test_number_of_reports_is_the_same_for_every_client():
    """Missing records are padded, surplus ones left out: the number of reports says nothing."""
    client = Client(NAMES, BlenderParams(3, "1e-5", max_records_client=3))
    for records in ([], [("a", "a0")], [("a", "a0")] * 7):
        assert len(client.report(records)) == 3


def test_client_never_reports_a_record_twice():
    """With nearly no noise (one report in e^16 differs), two reports of two records show both."""
    client = Client(
        NAMES, BlenderParams(48, "1e-5", query_budget_fraction=0.6, max_records_client=2)
    )
    pairs = [sorted(client.report([("a", "a0"), ("b", "b0")])) for _ in range(200)]
    assert sum(pair == [0, 3] for pair in pairs) > 190


def test_client_with_many_records_reports_each_equally_often():
    """With nearly no noise, the first reports are uniform over the client's own records."""
    client = Client(NAMES, BlenderParams(40, "1e-5", query_budget_fraction=0.5))
    records = [("a", "a0"), ("b", "b0"), ("c", "c2")]
    reports = np.array([client.report(records)[0] for _ in range(6_000)])
    observed = np.bincount(reports, minlength=10)
    assert law_p_value(observed[[0, 3, 7]], np.full(3, 1 / 3)) > ALPHA


def test_urls_of_a_lied_query_are_uniform_for_any_list_size(rng):
    """Sizes that do not divide 2^16 or 2^32 need the rejection step; every residue is checked."""
    from hybriddp.randomizers.two_stage import uniform_below

    for bound in (1, 2, 3, 7, 4096, 5000):
        drawn = uniform_below(np.full(400_000, bound), rng.bytes)
        observed = np.bincount(drawn, minlength=bound)
        assert len(observed) == bound
        assert law_p_value(observed, np.full(bound, 1 / bound)) > ALPHA


@pytest.mark.parametrize(
    ("bound", "n_bytes", "accepted_word", "value"),
    # For 3 * 2^30 the 2^30 lowest low parts are surplus, for 3 just the low part 0.
    [(3 << 30, 4, 3, 2), (3, 2, 0x8000, 1)],
)
def test_rejection_step_redraws_what_would_be_biased(bound, n_bytes, accepted_word, value):
    """The word 0 has a low part of 0, which is surplus for any bound that is no power of two."""
    from hybriddp.randomizers.two_stage import uniform_below

    served = []

    def surplus_first(n: int) -> bytes:
        word = accepted_word if served else 0
        served.append(n)
        return np.full(n // n_bytes, word, dtype=f"u{n_bytes}").tobytes()

    drawn = uniform_below(np.full(5, bound), surplus_first)
    assert [n for n in served if n] == [5 * n_bytes] * 2
    assert drawn.tolist() == [value] * 5


@pytest.mark.parametrize("cells", [[-1], [10], [[0, 0]], 3])
def test_cells_outside_the_list_are_refused_without_quoting_them(cells):
    with pytest.raises(InvalidParameter, match="cells must") as caught:
        MECHANISM.draw(np.array(cells))
    assert "got -1" not in str(caught.value)
    assert "got 10" not in str(caught.value)
