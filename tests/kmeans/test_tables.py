"""After the noise: centres from tables, what is said of clusters, and where centres start."""

import hashlib
import itertools
import math
from fractions import Fraction as F

import numpy as np
import pytest

from hybriddp.errors import InvalidParameter
from hybriddp.kmeans.mechanism import KMeansMechanism
from hybriddp.kmeans.points import count_and_sum_exactly, nearest_centres
from hybriddp.kmeans.setting import NOISE_OF_MEAN, NOISE_OF_SUM, KMeansSetting, TableSetting
from hybriddp.kmeans.start import first_centres
from hybriddp.kmeans.summary import describe_clusters
from hybriddp.kmeans.tables import Clustering, GroupTables, trace_of_tables
from hybriddp.params import Budget
from hybriddp.studies.means.kmeans import hybrid_kmeans, local_kmeans, trusted_kmeans

# Both groups, or one of them.
GROUPS = [(True, True), (True, False), (False, True)]


# ---- tables lead to the trace, and to nothing else ----


@pytest.mark.parametrize("has", GROUPS)
@pytest.mark.parametrize("weight", [NOISE_OF_MEAN, NOISE_OF_SUM])
@pytest.mark.parametrize("debias", [False, True])
def test_trace_of_a_study_follows_from_its_tables(has, weight, debias, rng):
    setting = KMeansSetting(3, 4, 5, upper=F(7, 3), weight=weight, debias=debias)
    points, start = rng.random((2, 60, 2)) * 2, rng.random((3, 2)) * 2
    if has == (True, True):
        found = hybrid_kmeans(points[0], points[1], start, setting, rng=rng)
    else:
        run = trusted_kmeans if has[0] else local_kmeans
        found = run(points[0], start, setting, rng=rng)
    assert (found.trusted is not None, found.local is not None) == has
    again = trace_of_tables(found.trusted, found.local, start, setting.of_tables(2))
    assert again.shape == (5, 3, 2)
    assert (again == found.trace).all()
    assert (again[1:] != start).any()


@pytest.mark.parametrize("has", GROUPS)
@pytest.mark.parametrize("debias", [False, True])
def test_trace_of_a_release_follows_from_its_integers(has, debias, rng):
    law = KMeansMechanism.for_budget(
        Budget(6), n_clusters=3, n_iterations=4, n_dimensions=2, debias=debias
    )
    start = first_centres(3, 2)
    groups = [rng.integers(0, 65_537, (200, 2)) if is_there else None for is_there in has]
    found = law.simulate(*groups, start, rng=rng)
    for tables in (found.trusted, found.local):
        if tables is not None:
            assert {tables.counts.dtype, tables.sums.dtype} == {np.dtype(np.int64)}
            assert (tables.counts.shape, tables.sums.shape) == ((4, 3), (4, 3, 2))
    again = trace_of_tables(found.trusted, found.local, start, law.tables)
    assert (again == found.trace).all()
    assert (found.centres == again[-1]).all()
    # The trace depends on the last tables in its last centres only.
    kept = [
        t and GroupTables(np.vstack([t.counts[:-1], t.counts[:1]]), t.sums)
        for t in (found.trusted, found.local)
    ]
    other = trace_of_tables(*kept, start, law.tables)
    assert (other[:-1] == again[:-1]).all()
    assert (other[-1] != again[-1]).any()


def test_steps_of_a_grid_are_read_as_people():
    """Tables in steps, with the release's laws, lead where people's lead with a study's."""
    law = KMeansMechanism.for_budget(Budget(5), n_clusters=3, n_iterations=1, n_dimensions=2)
    of_study = KMeansSetting(3, 1, 5, debias=True).of_tables(2)
    counts = np.array([[120, 4, 60]])
    sums = np.array([[[30, 80], [2, 1], [50, 12]]])
    start = first_centres(3, 2)
    people, steps = (GroupTables(counts * unit, sums * unit) for unit in (1, law.grid))
    for groups in GROUPS:
        of_people = [people if is_there else None for is_there in groups]
        of_steps = [steps if is_there else None for is_there in groups]
        expected = trace_of_tables(*of_people, start, of_study)
        assert trace_of_tables(*of_steps, start, law.tables) == pytest.approx(expected, abs=1e-6)
    # Four people less a lie's share are below one: nobody has a say, and the centre stays.
    assert expected[1][1].tolist() == start[1].tolist()


def test_setting_of_a_release_holds_the_laws_that_are_drawn():
    law = KMeansMechanism.for_budget(Budget(3), n_clusters=4, n_iterations=5, n_dimensions=2)
    tables = law.tables
    assert tables.curator_variance == pytest.approx(2 * (2 * 3 * 5 / 3) ** 2, rel=1e-5)
    assert tables.report_variance == pytest.approx(2 * (2 * 6 / 3) ** 2, rel=1e-5)
    assert (tables.p_truth, tables.p_lie) == tuple(
        map(float, (law.response.p_truth, law.response.p_lie))
    )
    assert (tables.unit, tables.debias, tables.largest) == (65_536, True, 1.0)


def test_tables_that_do_not_fit_are_refused():
    setting = TableSetting(1.0, 1.0, 0.7, 0.1)
    good = GroupTables(np.ones((2, 3)), np.ones((2, 3, 2)))
    longer = GroupTables(np.ones((3, 3)), np.ones((3, 3, 2)))
    start = np.full((3, 2), 0.5)
    for arguments in ((good, longer, start), (good, None, start[:2]), (None, good, start[:, :1])):
        with pytest.raises(InvalidParameter, match="must agree"):
            trace_of_tables(*arguments, setting)
    with pytest.raises(InvalidParameter, match="need tables"):
        trace_of_tables(None, None, start, setting)
    for counts, sums in (
        (np.ones((2, 3)), np.ones((2, 4, 2))),
        (np.ones(3), np.ones((3, 2))),
        (np.ones((0, 3)), np.ones((0, 3, 2))),
        (np.array([["secret"]]), np.ones((1, 1, 1))),
    ):
        with pytest.raises(InvalidParameter, match="tables must hold") as refusal:
            GroupTables(counts, sums)
        assert "secret" not in str(refusal.value)
    with pytest.raises(InvalidParameter, match="weight"):
        TableSetting(1.0, 1.0, 0.7, 0.1, weight="none")


# ---- integer points ----


def test_integer_points_are_compared_without_rounding():
    """Squares near 2^60 that differ by one: no float could tell them apart."""
    far = 1 << 30
    points, centres = np.array([[0, 1], [0, 0]]), np.array([[far, 0], [far, 1]])
    assert nearest_centres(points, centres).tolist() == [1, 0]
    assert nearest_centres(points, centres[::-1]).tolist() == [0, 1]
    assert nearest_centres(np.array([[5, 5]]), np.array([[4, 5], [6, 5]])).tolist() == [0]


def test_integer_sums_are_exact_beyond_what_floats_hold():
    points = np.array([[1 << 60, -1], [1, 7], [1 << 60, 5]])
    counts, sums = count_and_sum_exactly(points, np.array([2, 2, 0]), 3)
    assert counts.tolist() == [1, 0, 2]
    assert sums.tolist() == [[1 << 60, 5], [0, 0], [(1 << 60) + 1, 6]]


# ---- what is said of clusters ----

# Three quarters of responses are true, a quarter name the other cluster.
SETTING = TableSetting(8.0, 2.0, 0.75, 0.25)
T_TABLES = GroupTables(np.array([[30.0, 10.0]]), np.array([[[6.0], [8.0]]]))
L_TABLES = GroupTables(np.array([[500.0, 300.0]]), np.array([[[150.0], [200.0]]]))
OTHER, KINDS = GroupTables(np.array([[20.0, 30.0]]), np.array([[[9.0], [9.0]]])), ("counts", "sums")


def described(trusted, local, n_trusted):
    trace = trace_of_tables(trusted, local, np.array([[0.1], [0.9]]), SETTING)
    return describe_clusters(Clustering(trace, trusted, local), SETTING, n_trusted=n_trusted)


def test_trusted_clusters_by_hand():
    found = described(T_TABLES, None, 50)
    assert found.centres.ravel() == pytest.approx([0.2, 0.8])
    # Sum and count both have variance 8: (8 + 8 mean^2)/count^2.
    errors = [math.sqrt(8 * 1.04) / 30, math.sqrt(8 * 1.64) / 10]
    assert found.centre_errors.ravel() == pytest.approx(errors)
    assert found.sizes == pytest.approx([0.6, 0.2])  # of fifty: noise need not add up
    assert found.size_errors == pytest.approx(math.sqrt(8) / 50)


def test_local_clusters_by_hand():
    found = described(None, L_TABLES, 0)
    # Without lies: (500 - 200)/(1/2) = 600 and 200 people, sums (150 - 87.5) * 2 and 225, clipped.
    assert found.sizes == pytest.approx([0.75, 0.25])
    assert found.centres.ravel() == pytest.approx([125 / 600, 1.0])
    of_lies = math.sqrt(0.25 * 0.75 * 4 / 800)
    assert found.size_errors == pytest.approx([of_lies, of_lies])
    # Reports: factors 3/2 and -1/2, squared. Lies: a quarter of those who are 0.79 off.
    far = 0.25 * 0.75 * 4 * (1 - 125 / 600) ** 2
    first = (500 * 2.25 + 300 * 0.25) * 2 + 200 * far
    second = (300 * 2.25 + 500 * 0.25) * 2 + 600 * far
    errors = [math.sqrt(first) / 600, math.sqrt(second) / 200]
    assert found.centre_errors.ravel() == pytest.approx(errors)


def test_clusters_are_described_by_their_last_tables():
    first, last = (described(tables, None, 50) for tables in (OTHER, T_TABLES))
    stacked = [np.concatenate([getattr(t, n) for t in (OTHER, T_TABLES)]) for n in KINDS]
    both = described(GroupTables(*stacked), None, 50)
    assert both.sizes.tolist() == last.sizes.tolist() != first.sizes.tolist()
    assert both.centre_errors.tolist() == last.centre_errors.tolist()
    stacked = [np.concatenate([getattr(t, n) for t in (OTHER, L_TABLES)]) for n in KINDS]
    both, last = described(None, GroupTables(*stacked), 0), described(None, L_TABLES, 0)
    assert both.sizes.tolist() == last.sizes.tolist()
    assert both.centre_errors.tolist() == last.centre_errors.tolist()


def test_blended_clusters_lie_between_both_groups_and_err_less_than_either():
    alone, clients = described(T_TABLES, None, 50), described(None, L_TABLES, 0)
    both = described(T_TABLES, L_TABLES, 50)
    for name in ("sizes", "centres"):
        low, high = np.sort([getattr(alone, name), getattr(clients, name)], axis=0)
        assert (low < getattr(both, name)).all()
        assert (getattr(both, name) < high).all()
    # Of the first centre PWH weighs T by 30^2/8, and L by 600^2 over 1,200 noises of variance 2.
    of_t, of_l = 900 / 8, 600**2 / 2400
    w = of_t / (of_t + of_l)
    assert both.centres[0, 0] == pytest.approx(w * 0.2 + (1 - w) * 125 / 600)
    lies = 200 * 0.75 * (both.centres[1, 0] - both.centres[0, 0]) ** 2
    error = (w / 30) ** 2 * 8 * 1.04 + ((1 - w) / 600) ** 2 * (2400 + lies)
    assert both.centre_errors[0, 0] == pytest.approx(math.sqrt(error))
    assert (both.centre_errors < alone.centre_errors).all()
    assert (both.centre_errors < clients.centre_errors).all()
    # A size is of 850 people, of whom 50 are known well: c = 1/17.
    c, s, n = 1 / 17, 0.75 * 800 / 850 + 30 / 850, 850
    of_t, of_l, spread = 8 / 50**2, 0.75 / 800, s * (1 - s) / n / c / (1 - c)
    w = (spread * c + of_l) / (spread + of_t + of_l)
    assert both.sizes[0] == pytest.approx(w * 0.6 + (1 - w) * 0.75)
    error = spread * (w - c) ** 2 + w**2 * of_t + (1 - w) ** 2 * of_l
    assert both.size_errors[0] == pytest.approx(math.sqrt(error))


def test_cluster_of_which_nobody_speaks_has_an_infinite_error():
    silent = GroupTables(np.array([[30.0, 0.5]]), np.array([[[6.0], [8.0]]]))
    found = described(silent, None, 30)
    assert found.centres[1, 0] == 0.9
    assert found.centre_errors[1, 0] == math.inf
    assert math.isfinite(found.centre_errors[0, 0])
    # In a blend the group without a say adds nothing.
    both, clients = described(silent, L_TABLES, 30), described(None, L_TABLES, 0)
    assert both.centre_errors[1] == pytest.approx(clients.centre_errors[1], rel=0.05)


def test_sizes_are_of_people_that_there_are():
    with pytest.raises(InvalidParameter, match="n_trusted must say"):
        described(T_TABLES, None, 0)
    with pytest.raises(InvalidParameter, match="n_trusted must say"):
        described(None, L_TABLES, 5)
    with pytest.raises(InvalidParameter, match="nobody"):
        described(None, GroupTables(np.zeros((1, 2)), np.zeros((1, 2, 1))), 0)


# ---- first centres ----


def test_first_centres_are_the_same_for_ever():
    """Releases are checked against them; a change needs another name."""
    centres = [first_centres(k, d) for k, d in ((1, 1), (2, 2), (4, 2), (7, 3), (64, 5))]
    steps = np.concatenate([(c * 65_536).ravel() for c in centres])
    assert (steps == np.rint(steps)).all()
    assert (centres[1] * 65_536).tolist() == [[35800, 47829], [29430, 16006]]
    digest = hashlib.sha256(steps.astype("<i8").tobytes()).hexdigest()
    assert digest == "3abccf15ecebb120e72daa07929eb7fab05a1aebaae2947c1fee1dcaf28bd49d"


@pytest.mark.parametrize(("k", "d"), [(2, 1), (2, 2), (3, 2), (4, 2), (5, 2), (8, 3), (3, 6)])
def test_first_centres_are_far_from_each_other_from_the_walls_and_from_any_axis(k, d):
    centres = first_centres(k, d)
    apart = min(math.dist(a, b) for a, b in itertools.combinations(centres, 2))
    # A cube of volume 1/k for each would put them k^(-1/d) apart and half of that from the walls.
    assert apart > 0.6 * k ** (-1 / d)
    assert min(centres.min(), (1 - centres).min()) > 0.3 * k ** (-1 / d)
    # Two clouds beside each other along any axis can pull two centres apart.
    assert min(np.abs(a - b).min() for a, b in itertools.combinations(centres, 2)) > 1e-3


def test_first_centres_of_coarse_grids_and_too_many_clusters():
    assert set(first_centres(2, 1, 2).ravel()) <= {0.0, 0.5, 1.0}
    assert len(np.unique(first_centres(200, 2), axis=0)) == 200
    with pytest.raises(InvalidParameter, match="n_clusters must be at most"):
        first_centres(1_025, 1)
    for wrong in ((0, 1), (1, 0), (2, 2, 0)):
        with pytest.raises(InvalidParameter):
            first_centres(*wrong)
