"""Studies of hybrid means: points against formulas written down again, and what is said of them."""

import html
import itertools
import math
from dataclasses import replace
from fractions import Fraction as F
from functools import cache

import numpy as np
import pyarrow.parquet as pq
import pytest
from scipy import stats

from hybriddp.errors import InvalidParameter
from hybriddp.kmeans.setting import PRINTED as PRINTED_NOISE
from hybriddp.kmeans.setting import REPLACE_ONE
from hybriddp.mean.clients import BIT, LAPLACE, MIXED, WINDOW, ClientMeanMechanism
from hybriddp.mean.estimate import ESTIMATED, KNOWN, PRIVACY, GroupMean, choose_weight
from hybriddp.mean.variance import VarianceEstimate, variance_from_reports
from hybriddp.params import Budget
from hybriddp.randomizers.numbers.errors import MeanSetting
from hybriddp.studies.means import data as mean_study_data
from hybriddp.studies.means.amplification import (
    ALONE,
    CERTIFIED,
    CLASSIC,
    EXACT,
    PRINTED,
    AmplificationSetting,
    amplified_epsilon,
)
from hybriddp.studies.means.data import BETAS, LOW_TRUSTED, MEDIUM, UC_SALARIES, beta_variance
from hybriddp.studies.means.kmeans_figure import HYBRID, LOCAL, TRUSTED
from hybriddp.studies.means.kmeans_runs import (
    FOUR_CLOUDS,
    HYBRID_DEBIASED,
    LOCAL_DEBIASED,
    NO_CURATOR,
    Block,
    KMeansStudySetting,
    draw_block,
    run_block,
)
from hybriddp.studies.means.reports import ReportSetting, report_noise, run_reports
from hybriddp.studies.means.runs import (
    BY_FRACTION,
    BY_USERS,
    FREE,
    PAID,
    MeanStudySetting,
    run_mean_study,
)
from hybriddp.studies.means.weights import _free_estimate, error_of_estimated_weight
from tasks.studies.catalogue import STUDIES, aliases
from tasks.studies.means.catalogue import MEAN_STUDIES
from tasks.studies.means.kmeans import panels_of
from tasks.studies.pages.page import write_page
from tasks.studies.pages.plots import _belongs, _line_values, write_plots
from tasks.studies.pages.tables import make_tables
from tasks.studies.request import StudyRequest, do_runs
from tasks.studies.runners import runner_of
from tasks.studies.store import Job
from tests.repository import ROOT
from tests.stats import ALPHA, mean_p_value

CLOSE = {"rel": 1e-12}
# Proofs for integers take a tenth of a second each, trials of k-means three quarters of a minute.
SLOW = ("mean-amplification", "mean-kmeans")
WAGES_FILE = ROOT / "tests" / "data" / "cps_wages.parquet"


@cache
def summary_of(name, is_quick=False):
    """Return the summary of a study's runs, without files."""
    study = STUDIES[name]
    results = []
    for setting in study.settings(is_quick=is_quick):
        runner = runner_of(setting)
        people = runner.draw(setting.population, 0, is_quick=is_quick)
        rows = runner.run(study.name, setting, 0, people)
        results.append((Job(study.name, setting, 0), rows))
    return make_tables(results).summary


def point(part, **fields):
    """Return one point of a line."""
    rows = run_mean_study("any", MeanStudySetting(**fields), 0, None)
    return next(row for row in rows if row["part"] == str(part))


# ---- the points ----


def errors_again(n, c, epsilon, m, var_t, var_l, difference, w):
    """E_T, E_F and E_H(w) with Laplace noise, from MEAN20 lemmas 3.2, 3.4 and 3.13."""
    s2_t, s2_l = 2 * (m / (c * n * epsilon)) ** 2, 2 * (m / epsilon) ** 2
    mu_t, mu_l = F(0), difference
    mu = c * mu_t + (1 - c) * mu_l
    trusted = (1 - c) ** 2 / (c * n) * var_t + (1 - c) / n * var_l + s2_t + (mu_t - mu) ** 2
    hybrid = (w - c) ** 2 / (c * n) * var_t + (w - c) ** 2 / ((1 - c) * n) * var_l
    hybrid += w**2 * s2_t + (1 - w) ** 2 / ((1 - c) * n) * s2_l
    return trusted, s2_l / n, hybrid + (w * mu_t + (1 - w) * mu_l - mu) ** 2


def known_weight_again(n, c, epsilon, m, var_t, var_l):
    """MEAN20 after definition 6.1: the weight if means agree; definition 4.1 if variances do."""
    s2_t, s2_l = 2 * (m / (c * n * epsilon)) ** 2, 2 * (m / epsilon) ** 2
    spread = c * var_l + (1 - c) * var_t
    return c * (s2_l + spread) / (c * s2_l + (1 - c) * c * n * s2_t + spread)


@pytest.mark.parametrize(
    ("data", "m", "var_t", "var_l", "difference"),
    [
        ("beta-1-1", 1, F(1, 12), F(1, 12), F(0)),
        ("beta-10-10", 1, F(1, 84), F(1, 84), F(0)),
        ("low-trusted-high-local", 1, F(1, 84), F(5, 24), F(0)),
        ("high-trusted-low-local", 1, F(5, 24), F(1, 84), F(0)),
        ("shift-0.5", 2, F(1, 12), F(1, 12), F(1)),
    ],
)
def test_points_over_users_are_those_of_the_papers_lemmas(data, m, var_t, var_l, difference):
    """Means that differ are unknown to the weight, which is that of equal means (section 6)."""
    n, c, epsilon = 2_000, F(1, 20), F(1)
    weight = known_weight_again(n, c, epsilon, m, var_t, var_l)
    trusted, full, hybrid = errors_again(n, c, epsilon, m, var_t, var_l, difference, weight)
    found = point(n, kind=BY_USERS, item_kind=data)
    assert found["improvement_best"] == pytest.approx(float(min(trusted, full) / hybrid), **CLOSE)
    assert found["improvement_worst"] == pytest.approx(float(max(trusted, full) / hybrid), **CLOSE)


@pytest.mark.parametrize("method", [KNOWN, PRIVACY])
def test_points_over_the_trusted_share_are_those_of_the_salaries(method):
    n, c, epsilon, m, variance = 252_540, F(25, 10_000), F(2), 2_349_033, F(53_254**2)
    noise = 2 * (m / (c * n * epsilon)) ** 2, 2 * (m / epsilon) ** 2
    private = noise[1] / (noise[1] + (1 - c) * n * noise[0])  # MEAN20 definition 5.3
    known = known_weight_again(n, c, epsilon, m, variance, variance)
    trusted, full, hybrid = errors_again(
        n, c, epsilon, m, variance, variance, F(0), private if method == PRIVACY else known
    )
    found = point(25, kind=BY_FRACTION, item_kind=UC_SALARIES, method=method, epsilon=2)
    assert found["improvement_best"] == pytest.approx(float(min(trusted, full) / hybrid), **CLOSE)
    assert found["improvement_worst"] == pytest.approx(float(max(trusted, full) / hybrid), **CLOSE)


def test_variances_of_the_synthetic_data_are_exact():
    for shape, printed in ((10, 0.109), (1, 0.289), (0.1, 0.456)):
        assert beta_variance(shape) == pytest.approx(stats.beta(shape, shape).var(), **CLOSE)
        assert round(math.sqrt(beta_variance(shape)), 3) == printed


def test_numbers_of_the_wages_are_those_of_the_table():
    wages = pq.read_table(WAGES_FILE, columns=["e00200"])["e00200"].to_numpy().astype(float)
    assert len(wages) == mean_study_data.WAGES_USERS
    assert (wages.min(), wages.max()) == (0, mean_study_data.WAGES_UPPER)
    assert wages.std() == pytest.approx(mean_study_data.WAGES_SD, **CLOSE)
    assert f"{(wages == 0).mean():.0%}" == "30%"  # as the studies say


def test_groups_that_are_not_alike_are_compared_with_those_that_are():
    place = {"kind": BY_USERS, "optin_fraction": 0.005, "epsilon": 0.1}
    for skewed, control in ((LOW_TRUSTED, "beta-10-10"), ("shift-0.25", "shift-0")):
        found = point(30_000, item_kind=skewed, **place)
        alike = point(30_000, item_kind=control, **place)["improvement_best"]
        assert found["skew_change"] == found["improvement_best"] - alike != 0
        assert found["skew_ratio"] == found["improvement_best"] / alike
    assert "skew_change" not in point(30_000, item_kind="beta-10-10", **place)


# ---- weights from an estimated variance ----


def simulated_errors(n, c, epsilon, variance, share, rng):
    """Draw estimates, and let the product combine them and choose; return 10,000 errors."""
    n_trusted = int(n * c)
    n_local, n_pairs, local = n - n_trusted, n_trusted // 2, 2 / epsilon**2
    trusted = 2 / (n_trusted * epsilon * (1 - share)) ** 2
    groups = GroupMean(0.5, n_trusted, trusted), GroupMean(0.5, n_local, local / n_local)
    fourth = variance + 6 * variance * local + 6 * local**2
    free = math.sqrt((fourth - (variance + local) ** 2) / n_local)
    scale = 1 / (2 * n_pairs * epsilon * share) if share else 0.0
    sampling = math.sqrt(variance * (0.5 - variance) / n_pairs)
    truth = MeanSetting.alike(n, n_trusted / n, trusted, local, variance)
    errors = []
    for _ in range(10_000):
        found = VarianceEstimate(variance + rng.normal(0, free), 1.0, free)
        if share:
            guess = variance + rng.laplace(0, scale) + rng.normal(0, sampling)
            found = found.combined(VarianceEstimate(guess, 1.0, scale * 2**0.5, sampling))
        errors.append(truth.error_hybrid(choose_weight(*groups, ESTIMATED, found.cautious)))
    return np.array(errors)


@pytest.mark.parametrize(
    "place",
    [(30_000, 0.05, 1.0, 5 / 24, 0.05), (5_000, 0.05, 10.0, 1 / 84, 0.05),
     (100_000, 0.05, 1.0, 5 / 24, 0.0)],
)  # fmt: skip
def test_quadrature_is_what_the_product_would_do_on_average(place, rng):
    """Of 10,000 draws; a margin of six standard errors for eight would be seen."""
    errors = simulated_errors(*place, rng)
    assert mean_p_value(errors, np.array(error_of_estimated_weight(*place))) > ALPHA
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("hybriddp.studies.means.weights.NOISE_CAUTION", 6.0)
        assert mean_p_value(errors, np.array(error_of_estimated_weight(*place))) < ALPHA


def test_the_free_estimate_errs_as_much_as_one_from_reports_says(rng):
    """Of 200,000 Laplace reports, whose fourth moment is known to 2 %: 7 % is beyond 7 sigma."""
    n, epsilon, grid = 200_000, 1, 1 << 10
    clients = ClientMeanMechanism.for_budget(Budget(epsilon), LAPLACE, grid)
    values = rng.integers(0, grid + 1, n)
    sums = clients.simulate(values, np.zeros(n, np.int64), 1, rng=rng)
    found = variance_from_reports(sums, 0, clients.law.noise, grid).scaled(1 / grid)
    assumed = _free_estimate(n, 2 / epsilon**2, 1 / 12)
    assert found.noise == pytest.approx(assumed.noise, rel=0.07)
    assert assumed.sampling == found.sampling == 0


def test_an_estimate_that_is_not_worth_its_price_is_not_paid_for():
    """50 trusted users at epsilon 1: the noise hides any variance."""
    place = (1_000, 0.05, 1.0, 1 / 12)
    assert error_of_estimated_weight(*place, 0.05) == error_of_estimated_weight(*place, 0.0)
    assert error_of_estimated_weight(20_000, 0.05, 1.0, 1 / 84, 0.05) != (
        error_of_estimated_weight(20_000, 0.05, 1.0, 1 / 84, 0.0)
    )


def test_estimated_variances_never_lose_more_than_they_paid_and_win_a_lot_somewhere():
    rows = summary_of("mean-unknown-variance")
    gains = {
        method: [row["gain_over_privacy"] for row in rows if row["method"] == method]
        for method in (KNOWN, PRIVACY, PAID, FREE)
    }
    assert min(gains[KNOWN]) >= 1 - 1e-12
    assert set(gains[PRIVACY]) == {1.0}
    # The margin is several standard errors wide, not infinitely many: 1 in 10^4 is for its tails.
    assert min(gains[PAID]) > (19 / 20) ** 2 * (1 - 1e-4)
    assert min(gains[FREE]) > 1 - 1e-4
    assert max(gains[PAID]) > 10
    for known, paid in zip(gains[KNOWN], gains[PAID], strict=True):
        assert paid <= known * (1 + 1e-12)


# ---- what the paper says ----


def test_known_variances_win_everywhere_within_the_papers_bound():
    rows = summary_of("mean-known-variance")
    assert min(row["improvement_best"] for row in rows) > 1
    strict = [row["improvement_best"] for row in rows if row["epsilon"] <= 1]
    assert 2 < max(strict) < 16 / 7


def is_above_one_as_printed(n, c, v):
    """R(PWH) > 1 after MEAN20 theorem 5.5, v = epsilon^2 sigma^2/(2 m^2)."""
    return v >= 1 or c <= v or n < (1 + c) / (c * (c - v))


def is_above_one_corrected(n, c, v):
    """The same for c n > 1: c >= v/(1+v), or few users."""
    return c * (1 + v) >= v or n < (1 - c) * (1 + v) / (c * ((1 - c) * v - c))


def test_the_privacy_weight_wins_where_we_say_and_not_where_the_paper_does():
    """Exactly, over fractions; with s_L^2 = 1 the variance is v."""
    disagreements = 0
    for n, c, v in itertools.product(
        (30, 100, 1_000, 100_000),
        (F(1, 20), F(1, 10), F(1, 3), F(4, 5)),
        (F(1, 1_000), F(1, 30), F(1, 4), F(2)),
    ):
        setting = MeanSetting.alike(F(n), c, 1 / (c * n) ** 2, F(1), v)
        better = min(setting.error_trusted_only, setting.error_full_local)
        is_above = better > setting.error_hybrid(setting.weight_privacy)
        assert is_above_one_corrected(n, c, v) is is_above
        disagreements += is_above_one_as_printed(n, c, v) is not is_above
    assert disagreements > 10


def test_salaries_at_one_percent_are_hidden_as_the_corrected_theorem_says():
    found = {
        method: amplified_epsilon(AmplificationSetting(method=method), 0.0)
        for method in (PRINTED, CLASSIC, EXACT, CERTIFIED, ALONE)
    }
    assert f"{found[PRINTED]:.1e} {found[CLASSIC]:.3f} {found[EXACT]:.2f}" == "4.0e-04 0.979 0.79"
    assert found[CERTIFIED] == pytest.approx(found[EXACT], rel=1e-3)
    assert found[EXACT] < found[ALONE] < found[CLASSIC]
    few = AmplificationSetting(method=CERTIFIED, optin_fraction=0.001)
    alone = amplified_epsilon(replace(few, method=ALONE), 0.9)
    assert amplified_epsilon(few, 0.0) < amplified_epsilon(few, 0.9) < alone == found[ALONE]


def test_noise_of_reports_is_that_of_their_formulas():
    """Bits: ((e^eps+1)/(e^eps-1))^2/4 in the middle, less the square of the way from there."""
    for epsilon in (0.5, 1.0, 4.0):
        noise = {kind: report_noise(kind, epsilon) for kind in (LAPLACE, BIT, WINDOW, MIXED)}
        assert noise[LAPLACE] == pytest.approx((2 / epsilon**2,) * 2, rel=1e-6)
        middle = ((math.exp(epsilon) + 1) / (math.exp(epsilon) - 1)) ** 2 / 4
        assert noise[BIT] == pytest.approx((middle, middle - 1 / 12), rel=1e-6)
        assert noise[MIXED][0] <= min(noise[BIT][0], noise[WINDOW][0]) * (1 + 1e-6)


def test_errors_with_other_reports_are_those_of_their_average_noise():
    setting = ReportSetting(method=WINDOW, epsilon=2, optin_fraction=0.005)
    found = {row["part"]: row for row in run_reports("any", setting, 0, None)}
    noise = found["report"]["report_noise_average"]
    n, c = 10_000, 0.005
    errors = []
    for local in (noise, 2 / 2**2):
        blend = MeanSetting.alike(n, c, 2 / (n * c * 2) ** 2, local, 1 / 12)
        errors.append(blend.error_hybrid(blend.weight_known_variance))
    assert found["10000"]["mean_error"] == pytest.approx(math.sqrt(errors[0]), **CLOSE)
    assert found["10000"]["error_over_laplace"] == pytest.approx(errors[0] / errors[1], rel=1e-6)


# ---- trials of k-means ----


@pytest.fixture(scope="module")
def quick_block():
    return draw_block(FOUR_CLOUDS, 0, is_quick=True)


def test_a_run_is_the_mean_over_all_trials_of_its_seed(quick_block, monkeypatch):
    found = iter([1.0, 2.0, 6.0])
    seen = []
    monkeypatch.setattr(
        "hybriddp.studies.means.kmeans_runs.run_case",
        lambda points, case, trial, *, rng: seen.append(trial) or next(found),
    )
    trials = (quick_block.trials[0], quick_block.trials[1], quick_block.trials[0])
    block = Block(quick_block.points, trials)
    (row,) = run_block("any", KMeansStudySetting(), 0, block)
    assert row["within_squares"] == 3.0
    assert seen == list(trials)


def test_noise_depends_on_the_setting_and_the_seed_and_nothing_else(quick_block, monkeypatch):
    monkeypatch.setattr("hybriddp.studies.means.kmeans_runs.run_case", lambda *_, rng: rng.random())
    setting = KMeansStudySetting()
    first = run_block("s", setting, 0, quick_block)
    assert first == run_block("s", setting, 0, quick_block)
    assert first != run_block("s", setting, 1, quick_block)
    assert first != run_block("s", replace(setting, noise=REPLACE_ONE), 0, quick_block)


@pytest.mark.parametrize(
    ("method", "algorithm", "debias"),
    [(LOCAL, LOCAL, False), (LOCAL_DEBIASED, LOCAL, True), (TRUSTED, TRUSTED, False),
     (HYBRID, HYBRID, False), (HYBRID_DEBIASED, HYBRID, True)],
)  # fmt: skip
def test_methods_name_the_algorithm_and_the_estimator(method, algorithm, debias):
    is_local = algorithm == LOCAL
    noise, c = (NO_CURATOR, 0) if is_local else (REPLACE_ONE, 0.01)
    setting = KMeansStudySetting(method=method, noise=noise, optin_fraction=c, n_iterations=3)
    case, run = setting.case, setting.case.setting
    assert (case.algorithm, run.debias) == (algorithm, debias)
    assert (run.n_clusters, run.epsilon, run.n_iterations) == (4, 7, 3)
    if not is_local:
        assert (run.noise, case.trusted_fraction) == (REPLACE_ONE, 0.01)


def test_settings_of_a_seed_share_its_trials_and_all_seeds_the_points(quick_block):
    again, other = (draw_block(FOUR_CLOUDS, seed, is_quick=True) for seed in (0, 1))
    for trial, same, different in zip(quick_block.trials, again.trials, other.trials, strict=True):
        assert (trial.centres == same.centres).all()
        assert (trial.users == same.users).all()
        assert (trial.centres != different.centres).all()
        assert (trial.users != different.users).any()
    assert (quick_block.points == other.points).all()
    first, second = quick_block.trials
    assert (first.centres != second.centres).all()
    assert len(first.split(0.001)[0]) * 10 == len(first.split(0.01)[0]) == 100
    assert (first.split(0.01)[0][:10] == first.split(0.001)[0]).all()


def test_the_default_is_the_papers_number_of_trials_on_its_number_of_points():
    block = draw_block(FOUR_CLOUDS, 0, is_quick=False)
    assert (STUDIES["mean-kmeans"].seeds, len(block.trials)) == (26, 14)  # 364
    assert block.points.shape == (160_000, 2)


def kmeans_summary(squares):
    """Return a summary of the figure at tau 1 and 10, of these numbers by method, noise and c."""
    rows = []
    for setting in STUDIES["mean-kmeans"].settings(is_quick=True):
        place = (setting.method, setting.noise, setting.optin_fraction)
        value = squares[place if place in squares else setting.method]
        row = {name: getattr(setting, name) for name in ("noise", "optin_fraction", "method")}
        row |= {"n_iterations": setting.n_iterations, "within_squares_se": value / 100}
        rows.append(row | {"within_squares": value * setting.n_iterations})
    return rows


# Trusted k-means is the best baseline in one panel only, local k-means if it is not debiased.
SQUARES = {
    LOCAL: 100.0,
    LOCAL_DEBIASED: 50.0,
    (TRUSTED, PRINTED_NOISE, 0.001): 80.0,
    (TRUSTED, PRINTED_NOISE, 0.01): 46.8,
    (TRUSTED, REPLACE_ONE, 0.001): 300.0,
    (TRUSTED, REPLACE_ONE, 0.01): 60.0,
    HYBRID: 88.0,
    HYBRID_DEBIASED: 52.0,
}


def test_hybrids_are_compared_with_the_better_of_their_own_baselines():
    summary = kmeans_summary(SQUARES)
    found = {
        (method, noise): [
            [(cell.baseline["method"], round(cell.ratio, 4)) for cell in panel]
            for panel in panels_of(summary, method, noise)
        ]
        for method, noise in itertools.product(
            (HYBRID, HYBRID_DEBIASED), (PRINTED_NOISE, REPLACE_ONE)
        )
    }
    assert found == {
        (HYBRID, PRINTED_NOISE): [[(TRUSTED, 1.1)] * 2, [(TRUSTED, 1.8803)] * 2],
        (HYBRID, REPLACE_ONE): [[(LOCAL, 0.88)] * 2, [(TRUSTED, 1.4667)] * 2],
        (HYBRID_DEBIASED, PRINTED_NOISE): [[(LOCAL_DEBIASED, 1.04)] * 2, [(TRUSTED, 1.1111)] * 2],
        (HYBRID_DEBIASED, REPLACE_ONE): [[(LOCAL_DEBIASED, 1.04)] * 2] * 2,
    }


def test_the_verdict_on_kmeans_tells_every_cell_that_is_missed_and_none_else():
    said = STUDIES["mean-kmeans"].outcome(kmeans_summary(SQUARES))
    # Both have a standard error of 1 % at tau 1 and .1 % at tau 10.
    assert (
        "Noise as printed, hybrid, the paper's: c 0.1% 1.10 1.10 (over trusted); c 1.0% 1.88 1.88 "
        "(over trusted); NOT within 10 % at c 1.0%, tau 1, 10; at worst 1.88 ± 0.03." in said
    )
    assert "1.11 1.11 (over trusted); NOT within 10 % at c 1.0%, tau 1, 10; at worst 1.11" in said
    assert (
        "Noise for replace-one, hybrid, debiased: c 0.1% 1.04 1.04 (over local-debiased); c 1.0% "
        "1.04 1.04 (over local-debiased); within 10 % everywhere, at most 1.04 ± 0.01." in said
    )
    mixed = kmeans_summary(SQUARES)
    for row in mixed:
        if row["method"] == LOCAL_DEBIASED and row["n_iterations"] == 10:
            row["within_squares"] *= 100
    assert "(over local-debiased at tau 1, trusted at tau 10)" in STUDIES["mean-kmeans"].outcome(
        mixed
    )


def test_every_panel_of_figure_six_has_every_curve():
    study = STUDIES["mean-kmeans"]
    for plot in study.plots:
        sweeps = [study.sweep(name) for name in plot.sweeps]
        hosts = [sweep for sweep in sweeps if not sweep.panel]
        assert len(hosts) == 2
        for host in hosts:
            shown = [sweep for sweep in sweeps if host.name in (sweep.name, sweep.panel)]
            methods = sorted(method for sweep in shown for method in sweep.methods)
            assert methods == sorted(series.method for series in plot.series)
            assert len(methods) == 5


def test_the_page_on_kmeans_tells_a_curve_of_several_panels_once(tmp_path):
    request = StudyRequest(name="mean20-figure-6", quick=True, seeds=1, out=tmp_path)
    tables = do_runs(request)
    assert len(tables.summary) == 28  # two panels, noises and iterations; local curves only once
    page = write_page(request.study, tables, tmp_path, is_quick=True).read_text()
    assert page.count("Everybody local:") == 1
    assert "1 seeds for four-clouds" in page


# ---- the studies ----


def test_every_figure_of_means_has_a_study():
    known = aliases()
    assert {f"mean20-figure-{number}" for number in range(1, 9)} <= set(known)
    assert known["mean20-figure-8"] == "mean-unknown-variance"
    assert {study.name for study in MEAN_STUDIES} <= set(STUDIES)


@pytest.mark.parametrize("study", MEAN_STUDIES, ids=lambda study: study.name)
def test_every_line_of_every_plot_has_points(study):
    summary = summary_of(study.name, is_quick=study.name in SLOW)
    for plot in study.plots:
        for series, sweep in itertools.product(plot.series, map(study.sweep, plot.sweeps)):
            if series.method not in sweep.methods:
                continue  # a guest of the panel has it
            column, values = _line_values(sweep, plot)
            x = "part" if plot.is_over_parts else sweep.x
            for line in values or (None,):
                rows = [row for row in summary if _belongs(row, sweep, series, column, line, x)]
                found = [row[plot.measure] for row in rows if row[plot.measure] is not None]
                assert len(found) >= (2 if study.name in SLOW else 10), (plot.name, series, line)
                if plot.limits is not None and series.method != BIT:  # bits leave the plot
                    assert plot.limits[0] <= min(found) <= max(found) <= plot.limits[1]


def scaled(measure, factor):
    """Return what changes a row's measure, if it has it."""
    return lambda row: row | {measure: row[measure] and row[measure] * factor}


def level(measure):
    """Return what makes a measure the same everywhere."""
    return lambda row: row | {measure: row[measure] and 1.0}


@pytest.mark.parametrize(
    ("name", "change", "now", "then"),
    [
        ("mean-known-variance", scaled("improvement_best", 0.4), "s everywhere:", "NOT everywhere"),
        ("mean-known-variance", scaled("improvement_best", 1.5), "within the", "ABOVE the bound"),
        ("mean-unknown-variance", scaled("improvement_best", 9), ".5 at eps", ".5 at no point"),
        ("mean-unknown-variance", scaled("gain_over_privacy", 0.5), "with 1.10", "with 2.2"),
        ("mean-heterogeneous", level("skew_change"), "than .01 at 71%", "than .01 at 0%"),
        ("mean-reports", level("report_noise_worst"), "bits from epsilon 1.5", "bits nowhere"),
        ("mean-amplification", scaled("amplified_epsilon", 0.5), "is 4.0e-04 as", "is 2.0e-04 as"),
    ],
)
def test_conclusions_are_computed(name, change, now, then):
    study, summary = STUDIES[name], summary_of(name, is_quick=name in SLOW)
    assert now in study.outcome(summary)
    assert then not in study.outcome(summary)
    changed = study.outcome([change(row) for row in summary])
    assert then in changed
    assert now not in changed


@pytest.mark.parametrize("name", [study.name for study in MEAN_STUDIES])
def test_a_quick_study_concludes_from_fewer_points(name):
    quick = summary_of(name, is_quick=True)
    assert name in SLOW or 0 < len(quick) < len(summary_of(name))
    assert STUDIES[name].outcome(quick)


def test_a_quick_study_has_its_plot_and_its_page(tmp_path):
    request = StudyRequest(name="mean20-figure-2", quick=True, out=tmp_path)
    tables = do_runs(request)
    one_plot = replace(request.study, plots=request.study.plots[-1:])
    (plot,) = write_plots(one_plot, tables.summary, tmp_path)
    page = write_page(one_plot, tables, tmp_path, is_quick=True).read_text()
    assert f'src="{plot.name}"' in page
    assert "Computed in closed form; nothing is drawn." in page
    assert tables.outcome == request.study.outcome(tables.summary)
    assert html.escape(tables.outcome) in page
    for words in (*BETAS, *mean_study_data.TABLES, "peaks just above 2", "<th>data</th>"):
        assert words in page
    assert "items" not in page


@pytest.mark.parametrize(
    ("setting", "field"),
    [
        (MeanStudySetting(kind=BY_USERS, item_kind=MEDIUM), "kind"),
        (MeanStudySetting(kind=BY_USERS, item_kind=MEDIUM), "item_kind"),
        (MeanStudySetting(kind=BY_USERS, item_kind=MEDIUM), "method"),
        (AmplificationSetting(), "method"),
        (ReportSetting(), "method"),
        (KMeansStudySetting(), "method"),
        (KMeansStudySetting(), "noise"),
        (KMeansStudySetting(), "population"),
    ],
)
def test_unknown_words_in_a_setting_are_refused(setting, field):
    with pytest.raises(InvalidParameter, match=f"{field} must be one of"):
        replace(setting, **{field: "else"})


def test_settings_without_a_meaning_are_refused():
    with pytest.raises(InvalidParameter, match="must have a number of users"):
        MeanStudySetting(kind=BY_FRACTION, item_kind=MEDIUM)
    with pytest.raises(InvalidParameter, match="groups that are alike only"):
        MeanStudySetting(kind=BY_USERS, item_kind=LOW_TRUSTED, method=PAID)
    with pytest.raises(InvalidParameter, match="change all three together"):
        KMeansStudySetting(method=LOCAL)
    with pytest.raises(InvalidParameter, match="change all three together"):
        KMeansStudySetting(noise=NO_CURATOR, optin_fraction=0)
