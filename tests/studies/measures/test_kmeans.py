"""Hybrid k-means: hand-computed iterations, what is drawn, and what it costs every user."""

import itertools
import math
from dataclasses import dataclass, field
from fractions import Fraction as F

import numpy as np
import pytest

from hybriddp.errors import InvalidParameter
from hybriddp.kmeans.noise import response_law, undo_lies
from hybriddp.kmeans.points import count_and_sum, nearest_centres, within_cluster_squares
from hybriddp.kmeans.setting import NOISE_OF_MEAN, NOISE_OF_SUM, PRINTED, REPLACE_ONE, KMeansSetting
from hybriddp.studies.means.kmeans import cluster, hybrid_kmeans, local_kmeans, trusted_kmeans
from hybriddp.studies.means.kmeans_figure import (
    HYBRID,
    LOCAL,
    TRUSTED,
    Case,
    figure_six_cases,
    four_gaussians,
    packed_centres,
    run_trials,
    summarise,
    uniform_centres,
)


@dataclass
class Script:
    """A noise source that adds what it is told, zeros by default, and remembers what it saw."""

    noises: list = field(default_factory=list)  # of the first calls of laplace
    responses: list | None = None  # of every call of respond; the truth by default
    drawn: list = field(default_factory=list)
    asked: list = field(default_factory=list)

    def laplace(self, shape, scale):
        self.drawn.append((shape, scale))
        step = len(self.drawn) - 1
        noise = self.noises[step] if step < len(self.noises) else 0.0
        return np.broadcast_to(np.asarray(noise, dtype=float), shape)

    def respond(self, labels, n_values, epsilon):
        self.asked.append((labels.tolist(), n_values, epsilon))
        return labels if self.responses is None else np.array(self.responses)


def column(*values):
    return np.array(values, dtype=float)[:, None]


# Nearest to 0: two of T (mean 0.1) and one of L (0.3). Nearest to 1: one of T and two of L.
TRUSTED_POINTS, LOCAL_POINTS, ENDS = column(0, 0.2, 0.9), column(0.3, 0.8, 1), column(0, 1)


# ---- one iteration by hand ----


def test_each_baseline_moves_a_centre_to_the_mean_of_its_own_points_only():
    # MEAN20 lines 10 and 12 print sums over all of T and all of L; they run over C_k.
    setting = KMeansSetting(2, 1, 1)
    alone = cluster(TRUSTED_POINTS, None, ENDS, setting, Script())
    assert alone.centres == pytest.approx(column(0.1, 0.9))
    everybody = cluster(None, LOCAL_POINTS, ENDS, setting, Script())
    assert everybody.centres == pytest.approx(column(0.3, 0.9))


@pytest.mark.parametrize("noise", [PRINTED, REPLACE_ONE])
@pytest.mark.parametrize("weight", [NOISE_OF_MEAN, NOISE_OF_SUM])
def test_blend_has_the_weight_of_definition_5_3(noise, weight):
    setting = KMeansSetting(2, 1, 2, noise=noise, weight=weight)
    # d = m = tau = 1, epsilon = 2: b_T = 1 printed, 2 for replace-one, and b_L = 1.
    b_t, s2_l = {PRINTED: 1, REPLACE_ONE: 2}[noise], F(2)
    expected = []
    for n_t, n_l, mean_t, mean_l in ((2, 1, F(1, 10), F(3, 10)), (1, 2, F(9, 10), F(9, 10))):
        s2_t = F(2 * b_t**2, n_t**2 if weight == NOISE_OF_MEAN else 1)
        w = s2_l / (s2_l + n_l * s2_t)
        expected.append(float(w * mean_t + (1 - w) * mean_l))
    found = cluster(TRUSTED_POINTS, LOCAL_POINTS, ENDS, setting, Script())
    assert found.centres == pytest.approx(column(*expected))


def test_debiased_blend_counts_every_report_that_a_cluster_carries():
    setting = KMeansSetting(2, 1, 4, noise=PRINTED, debias=True)
    local, named_first = column(0.3, 0.2, 0.4, 0.1, 0.9, 1), np.array([1, 1, 1, 0, 0, 1])
    p, q = response_law(2, F(2))  # half of the budget
    factors = (named_first - q) / (p - q)  # of the reports in the first cluster's sum
    n_hat, mean_l = factors.sum(), factors @ local[:, 0] / factors.sum()
    s2 = 2 * 0.5**2  # b_T = b_L = 1/2
    var_t, var_l = s2 / 2**2, s2 * (factors**2).sum() / n_hat**2
    w = var_l / (var_t + var_l)
    script = Script(responses=list(1 - named_first))
    found = cluster(TRUSTED_POINTS, local, ENDS, setting, script)
    assert 0 < mean_l < 1
    assert found.centres[0, 0] == pytest.approx(w * 0.1 + (1 - w) * mean_l)


def test_noise_goes_on_counts_then_sums_and_the_mean_divides_the_one_by_the_other():
    script = Script(noises=[[2.0, 0.0], [[1.0], [-0.5]]])
    found = cluster(TRUSTED_POINTS, None, ENDS, KMeansSetting(2, 1, 1), script)
    assert found.centres == pytest.approx(column((0.2 + 1) / (2 + 2), (0.9 - 0.5) / 1))


def test_trace_holds_every_iteration_and_feeds_the_next():
    points = column(0, 0.3, 0.7, 0.95, 0.65)
    found = cluster(points, None, column(0, 0.4), KMeansSetting(2, 2, 1), Script())
    assert found.trace[0] == pytest.approx(column(0, 0.4))
    assert found.trace[1] == pytest.approx(column(0, 0.65))
    assert found.trace[2] == pytest.approx(column(0.3 / 2, 2.3 / 3))
    assert (found.centres == found.trace[2]).all()


# ---- small counts and the edge of the cube ----


def test_cluster_of_less_than_one_user_keeps_its_centre_in_all_three_algorithms():
    setting, far = KMeansSetting(2, 1, 1), column(0.1, 1)
    crowd = column(0.1, 0.2)
    for trusted, local in ((crowd, None), (None, crowd), (crowd, crowd)):
        found = cluster(trusted, local, far, setting, Script())
        assert found.centres == pytest.approx(column(0.15, 1))


@pytest.mark.parametrize(("noise", "is_heard"), [(-1.01, False), (-0.99, True)])
def test_group_has_no_say_where_its_noisy_count_is_below_one(noise, is_heard):
    # T's first cluster has two users; the noise takes its count just below or above 1.
    script = Script(noises=[[noise, 0.0]])
    found = cluster(TRUSTED_POINTS, None, ENDS, KMeansSetting(2, 1, 1), script)
    assert (found.centres[0, 0] > 0) == is_heard
    # In the hybrid the same draw comes after L's reports, and L speaks alone.
    script = Script(noises=[0.0, [noise, 0.0]])
    found = cluster(TRUSTED_POINTS, LOCAL_POINTS, ENDS, KMeansSetting(2, 1, 1), script)
    assert (found.centres[0, 0] != pytest.approx(0.3)) == is_heard


def test_centres_stay_in_the_cube_whatever_the_noise():
    setting = KMeansSetting(2, 1, 1, upper=2)
    script = Script(noises=[0.0, [[9.0], [-9.0]]])
    found = cluster(TRUSTED_POINTS, None, ENDS, setting, script)
    assert found.centres.tolist() == [[2.0], [0.0]]


# ---- what is drawn, and what it costs ----


def test_scales_are_those_of_line_2_and_twice_the_curators_for_replace_one():
    printed, ours = (KMeansSetting(4, 5, 7, noise=noise) for noise in (PRINTED, REPLACE_ONE))
    assert printed.curator_scale(2) == F(15, 7)
    assert ours.curator_scale(2) == F(30, 7)
    assert printed.report_scale(2) == ours.report_scale(2) == F(12, 7)
    assert ours.response_epsilon == F(7, 6)
    assert KMeansSetting(4, 5, 7, upper=3).curator_scale(2) == F(70, 7)
    assert KMeansSetting(4, 5, 7).noise == REPLACE_ONE


def test_everything_that_leaves_a_group_carries_its_noise_in_every_iteration():
    setting, script = KMeansSetting(2, 3, 1), Script()
    cluster(np.full((5, 3), 0.2), np.full((7, 3), 0.8), np.eye(2, 3), setting, script)
    reports = ((3, 7), setting.report_scale(3))
    curator = [((2,), setting.curator_scale(3)), ((2, 3), setting.curator_scale(3))]
    assert script.drawn == [reports, *curator * 3]
    assert [asked[1:] for asked in script.asked] == [(2, F(1, 4))] * 3


def grid(n_dimensions, n_steps, upper=1):
    axis = np.linspace(0, upper, n_steps + 1)
    return np.array(list(itertools.product(axis, repeat=n_dimensions)))


@pytest.mark.parametrize(("d", "n_steps", "upper"), [(1, 8, 1), (1, 4, 3), (2, 2, 1)])
def test_replaced_point_moves_counts_and_sums_within_the_curators_noise(d, n_steps, upper):
    """All pairs of first centres and of points on a grid; a third user stays in the middle."""
    corners = grid(d, n_steps, upper)
    middle, worst = np.full((1, d), upper / 2), 0.0
    for pair in itertools.combinations(corners, 2):
        centres, tables = np.array(pair), []
        for point in corners:
            points = np.vstack([middle, point])
            counts, sums = count_and_sum(points, nearest_centres(points, centres), 2)
            tables.append(np.append(counts, sums))
        worst = max(worst, *(abs(a - b).sum() for a, b in itertools.combinations(tables, 2)))
    setting = KMeansSetting(2, 3, 1, upper=upper)
    assert worst == pytest.approx(2 * (upper * d + 1) - upper / n_steps)
    assert worst * setting.n_iterations / setting.curator_scale(d) <= setting.epsilon
    printed = KMeansSetting(2, 3, 1, upper=upper, noise=PRINTED)
    assert worst * printed.n_iterations / printed.curator_scale(d) > printed.epsilon


def test_curator_sees_nothing_of_the_trusted_points_but_noisy_counts_and_sums(rng):
    """Noise that turns two data sets into the same noisy table leads to the same centres."""
    view_counts, view_sums = np.array([3.5, 2.0]), np.array([[1.0, 0.5], [1.5, 0.25]])
    centres, setting, traces = np.array([[0.1, 0.2], [0.9, 0.6]]), KMeansSetting(2, 1, 1), []
    for points in (rng.random((5, 2)), rng.random((5, 2))):
        counts, sums = count_and_sum(points, nearest_centres(points, centres), 2)
        script = Script(noises=[view_counts - counts, view_sums - sums])
        traces.append(cluster(points, None, centres, setting, script).trace)
    assert traces[0] == pytest.approx(traces[1])
    assert traces[0][1] == pytest.approx(view_sums / view_counts[:, None])


def local_loss(point, other, view, response, centres, setting):
    """Return the log-likelihood ratio of all that one local user sends, for two true points."""
    log_likelihoods, traces = [], []
    for truth in (point, other):
        # The noise that turns this truth into the same view, so that all centres are the same.
        script = Script(noises=[(view - truth)[:, None]], responses=[response])
        traces.append(cluster(None, truth[None, :], centres, setting, script).trace)
        ((_, scale),) = script.drawn
        log_likelihood = -float(np.abs(view - truth).sum() / float(scale))
        for (label,), n_values, epsilon in script.asked:
            p, q = response_law(n_values, epsilon)
            log_likelihood += math.log(p if label == response else q)
        log_likelihoods.append(log_likelihood)
    assert traces[0] == pytest.approx(traces[1])  # nothing else of the truth is used
    return log_likelihoods[0] - log_likelihoods[1]


@pytest.mark.parametrize(("d", "n_steps", "upper"), [(1, 3, 1), (1, 2, 3), (2, 1, 1)])
def test_local_user_loses_epsilon_in_all_and_no_more(d, n_steps, upper):
    """Every pair of points, every view beyond, between and on them, and every response."""
    setting = KMeansSetting(2, 2, F(3, 2), upper=upper)
    points, centres = grid(d, n_steps, upper), np.array([[0.0] * d, [float(upper)] * d])
    views = 3 * grid(d, 3, upper) - upper
    worst = max(
        local_loss(point, other, view, response, centres, setting)
        for point, other in itertools.permutations(points, 2)
        for view in views
        for response in (0, 1)
    )
    assert worst == pytest.approx(float(setting.epsilon), abs=1e-12)


def test_users_respond_with_the_cluster_of_their_true_point():
    # Line 7 prints the reported one, which the noise here carries to the other end.
    script = Script(noises=[[[1.0, -1.0]]])
    cluster(None, column(0, 1), ENDS, KMeansSetting(2, 1, 1), script)
    assert script.asked[0][0] == [0, 1]


def test_undoing_lies_gives_the_true_counts_and_sums_on_average():
    """All responses of four users about three clusters, weighted by their probabilities."""
    truth, epsilon = np.array([0, 0, 1, 2]), F(4, 5)
    values = np.array([[0.3, 0.1], [0.9, 0.4], [0.2, 0.5], [0.7, 0.8]])
    p, q = response_law(3, epsilon)
    assert p + 2 * q == pytest.approx(1)
    assert p / q == pytest.approx(math.exp(epsilon))
    mean_counts, mean_sums = np.zeros(3), np.zeros((3, 2))
    for responses in itertools.product(range(3), repeat=4):
        probability = math.prod(p if r == t else q for r, t in zip(responses, truth, strict=True))
        counts, sums = count_and_sum(values, np.array(responses), 3)
        mean_counts += probability * undo_lies(counts, p, q)
        mean_sums += probability * undo_lies(sums, p, q)
    counts, sums = count_and_sum(values, truth, 3)
    assert mean_counts == pytest.approx(counts)
    assert mean_sums == pytest.approx(sums)


# ---- distances ----


def test_nearest_centres_and_sum_of_squares_agree_with_the_definition(rng):
    points, centres = rng.random((40_000, 3)), rng.random((5, 3))  # more than a chunk
    squares = ((points[:, None, :] - centres) ** 2).sum(axis=2)
    assert (nearest_centres(points, centres) == squares.argmin(axis=1)).all()
    assert within_cluster_squares(points, centres) == pytest.approx(squares.min(axis=1).sum())


def test_first_of_two_equally_near_centres_wins_and_a_centre_is_no_distance_from_itself():
    centres = np.array([[0.0, 0.0], [1.0, 0.0]])
    assert nearest_centres(np.array([[0.5, 0.3]]), centres).tolist() == [0]
    assert within_cluster_squares(centres, centres) == 0


# ---- what is refused ----


def test_points_that_the_noise_does_not_cover_are_refused_without_being_quoted():
    setting = KMeansSetting(2, 1, 1)
    for bad in (column(0.5, 1.25), column(-0.125, 0.5), column(math.nan, 0.5)):
        for trusted, local in ((bad, None), (None, bad), (TRUSTED_POINTS, bad)):
            with pytest.raises(InvalidParameter, match="must lie between 0 and upper") as refusal:
                cluster(trusted, local, ENDS, setting, Script())
            assert not {"1.25", "0.125", "nan"} & set(str(refusal.value).replace(",", "").split())
    with pytest.raises(InvalidParameter, match="array") as refusal:
        cluster(np.array([["secret"]]), None, ENDS, setting, Script())
    assert "secret" not in str(refusal.value)


def test_upper_bound_that_is_no_float_is_rounded_down():
    for upper in (F(1, 3), F(1, 10), F(7, 10), F(2, 3)):
        setting = KMeansSetting(2, 1, 1, upper=upper)
        assert setting.largest <= upper < F(math.nextafter(setting.largest, 2))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n_clusters": 0}, "n_clusters"),
        ({"n_iterations": 0}, "n_iterations"),
        ({"epsilon": 0}, "epsilon"),
        ({"upper": 0}, "upper"),
        ({"noise": "none"}, "noise"),
        ({"weight": "none"}, "weight"),
    ],
)
def test_settings_without_meaning_are_refused(change, message):
    with pytest.raises(InvalidParameter, match=message):
        KMeansSetting(**{"n_clusters": 2, "n_iterations": 1, "epsilon": 1, **change})


def test_centres_must_fit_the_setting_and_the_points():
    with pytest.raises(InvalidParameter, match="one row for each cluster"):
        cluster(TRUSTED_POINTS, None, column(0.5), KMeansSetting(2, 1, 1), Script())
    with pytest.raises(InvalidParameter, match="as many coordinates"):
        cluster(TRUSTED_POINTS, None, np.eye(2), KMeansSetting(2, 1, 1), Script())
    with pytest.raises(InvalidParameter, match="needs a group"):
        cluster(None, None, ENDS, KMeansSetting(2, 1, 1), Script())


# ---- the study ----


def test_packed_centres_are_spread_over_the_cube_and_differ_from_trial_to_trial(rng):
    setting, starts = KMeansSetting(4, 1, 1, upper=3), []
    for _ in range(20):
        centres = packed_centres(setting, 2, rng=rng)
        apart = min(math.dist(a, b) for a, b in itertools.combinations(centres, 2))
        # Four spheres of radius m/4 fill the square; random ones come within a third of that.
        assert 0.5 < min(apart / 2, centres.min(), (3 - centres).min()) <= 0.75
        starts.append(centres)
    assert np.std(starts, axis=0).min() > 0.1
    assert packed_centres(KMeansSetting(1, 1, 1), 3, rng=rng).shape == (1, 3)


def test_uniform_centres_fill_the_cube(rng):
    starts = [uniform_centres(KMeansSetting(4, 1, 1, upper=3), 2, rng=rng) for _ in range(200)]
    assert 0 < np.min(starts) < 0.1
    assert 2.9 < np.max(starts) < 3


def test_points_of_figure_six_are_four_equal_clouds_in_the_unit_square(rng):
    points = four_gaussians(n_per_cluster=1_000, rng=rng)
    corners = np.array([[0.375, 0.375], [0.375, 0.625], [0.625, 0.375], [0.625, 0.625]])
    labels = nearest_centres(points, corners)
    # 0.125 is 4.46 sigma: a point strays with probability 1e-5, forty of 4,000 never do.
    assert np.abs(np.bincount(labels) - 1_000).max() < 10
    expected = 4_000 * 2 * 0.028**2
    assert within_cluster_squares(points, corners) == pytest.approx(expected, rel=0.15)
    wide = four_gaussians(n_per_cluster=100, side=1.0, rng=rng)
    assert (wide.min(), wide.max()) == (0.0, 1.0)


def test_trials_depend_on_the_seed_and_nothing_else():
    points = four_gaussians(n_per_cluster=500, rng=np.random.default_rng(1))
    cases = figure_six_cases(noises=(PRINTED, REPLACE_ONE), iterations=(1, 2))
    first, again, other = (
        run_trials(points, cases, 3, rng=np.random.default_rng(seed)) for seed in (7, 7, 8)
    )
    assert first.shape == (3, len(cases)) == (3, 2 * (2 * 2 * 2 + 1))
    assert (first == again).all()
    assert (first != other).all()


def test_cases_of_a_trial_run_the_algorithm_that_they_name(monkeypatch):
    calls = []

    def spy(algorithm, *, n_groups):
        def run(*arguments, rng):
            calls.append((algorithm.__name__, *map(len, arguments[:n_groups]), arguments[n_groups]))
            return algorithm(*arguments, rng=rng)

        return run

    for algorithm, n_groups in ((hybrid_kmeans, 2), (trusted_kmeans, 1), (local_kmeans, 1)):
        name = f"hybriddp.studies.means.kmeans_figure.{algorithm.__name__}"
        monkeypatch.setattr(name, spy(algorithm, n_groups=n_groups))
    setting = KMeansSetting(4, 1, 7)
    cases = [Case(algorithm, 0.01, setting) for algorithm in (HYBRID, TRUSTED, LOCAL)]
    rng = np.random.default_rng(1)
    run_trials(four_gaussians(n_per_cluster=250, rng=rng), cases, 1, rng=rng)
    assert [call[:-1] for call in calls] == [
        ("hybrid_kmeans", 10, 990),
        ("trusted_kmeans", 10),
        ("local_kmeans", 1_000),
    ]
    assert all((call[-1] == calls[0][-1]).all() for call in calls)  # the same first centres


def test_summary_is_the_mean_and_its_standard_error():
    case = Case(LOCAL, 0.5, KMeansSetting(4, 1, 7))
    (row,) = summarise([case], np.array([[1.0], [2.0], [6.0]]))
    assert (row.n_trials, row.mean_squares) == (3, 3.0)
    assert row.standard_error == pytest.approx(math.sqrt((4 + 1 + 9) / 2 / 3))
