"""docs/errata.md, items 1, 2, 3 and 8: where the BLENDER papers and a prototype are wrong."""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from hybriddp.blender.estimation.denoise import denoise
from hybriddp.blender.estimation.paper import estimate_variance
from hybriddp.blender.finding import HeadListMechanism
from hybriddp.blender.headlist import HeadList
from hybriddp.blender.optin import count_listed_records
from hybriddp.noise.laplace import DiscreteLaplace
from hybriddp.params import Budget
from hybriddp.randomizers.stages import TwoStageResponse

pytestmark = pytest.mark.exact

# --- Item 1: the variance of the client's record estimates -----------------------------------


def stage_numbers(response: TwoStageResponse, query: int):
    """t, a, t_q, l_q, k, k_q of algorithm LocalAlg, exactly."""
    url = response.urls[query]
    stage = response.query
    return stage.p_truth, stage.p_lie, url.p_truth, url.p_lie, stage.n_values, url.n_values


def record_variance(response, query, r_q, r_qu, n, form):
    """The three published forms of one variance; `form` is "SEC17", "JPC19" or "ours"."""
    t, a, t_q, l_q, k, k_q = stage_numbers(response, query)
    D, A = t * (t_q - l_q), a / k_q - t * l_q
    var_q = r_q * (1 - r_q) / ((n - 1) * (t - a) ** 2)
    if form == "SEC17":  # theorem 5
        covariance = 2 * n / (n - 1) * A * (k - 2 + t) / (k * t - 1) * r_qu
        return (r_qu * (1 - r_qu) / (n - 1) + A**2 * var_q + covariance) / D**2
    covariance = 2 * A * r_qu * (1 - r_q) / (n * (t - a))
    bessel = Fraction(n, n - 1)
    if form == "JPC19":  # theorem 3.6: var_q holds a Bessel factor already
        return bessel * (r_qu * (1 - r_qu) / n + A**2 * var_q + covariance) / D**2
    return bessel * (r_qu * (1 - r_qu) / n + A**2 * var_q / bessel + covariance) / D**2


def test_sec17_theorem_5_gives_negative_variances():
    """50 queries with 3 urls at epsilon 4: negative for every fraction of reports one meets."""
    response = TwoStageResponse.for_budgets(Budget("3.4"), Budget("0.6"), [4] * 50 + [1])
    for p_qu in (0.0, 0.001, 0.01, 0.02):
        law_q = response.query.p_lie + (response.query.p_truth - response.query.p_lie) * p_qu
        r_q, r_qu = float(law_q), float(law_q) / 3
        printed = record_variance(response, 0, r_q, r_qu, 500_000, "SEC17")
        assert printed < 0 < record_variance(response, 0, r_q, r_qu, 500_000, "ours")


def exact_moments(response: TwoStageResponse, truth: list[Fraction], n: int, form: str):
    """E[claimed variance] and Var(estimate) of cell 0 over all outcomes of n reports, exactly."""
    sizes = [url.n_values for url in response.urls]
    laws = [response.pmf(q, u) for q, size in enumerate(sizes) for u in range(size)]
    report = [
        sum(p * law[c] for p, law in zip(truth, laws, strict=True)) for c in range(len(truth))
    ]
    # What matters of a report: cell 0, another cell of its query, anything else.
    chances = [report[0], sum(report[1 : sizes[0]]), sum(report[sizes[0] :])]
    t, a, t_q, l_q, _, k_q = stage_numbers(response, 0)
    claimed = mean = square = Fraction(0)
    for outcome in product(range(3), repeat=n):
        chance = math.prod((chances[x] for x in outcome), start=Fraction(1))
        r_qu = Fraction(outcome.count(0), n)
        r_q = r_qu + Fraction(outcome.count(1), n)
        p_q = (r_q - a) / (t - a)
        p_qu = (r_qu - t * l_q * p_q - a * (1 - p_q) / k_q) / (t * (t_q - l_q))
        claimed += chance * record_variance(response, 0, r_q, r_qu, n, form)
        mean, square = mean + chance * p_qu, square + chance * p_qu**2
    return claimed, square - mean**2


@pytest.mark.parametrize("n", [2, 3, 5])
def test_jpc19_theorem_3_6_applies_bessels_correction_twice(n):
    """Over all outcomes the corrected variance is exactly unbiased; the printed one is above."""
    response = TwoStageResponse.for_budgets(Budget(1), Budget(1), [3, 2, 1])
    truth = [Fraction(x, 20) for x in (5, 2, 1, 4, 3, 5)]
    corrected, variance = exact_moments(response, truth, n, "ours")
    printed, _ = exact_moments(response, truth, n, "JPC19")
    assert corrected == variance
    assert printed > variance


def test_denoise_computes_the_corrected_form():
    response = TwoStageResponse.for_budgets(Budget(1), Budget(1), [3, 2, 1])
    counts = np.array([50, 20, 10, 40, 30, 50])
    claimed = denoise(response, counts).cells.variances[0]
    expected = record_variance(response, 0, Fraction(80, 200), Fraction(50, 200), 200, "ours")
    assert claimed == pytest.approx(float(expected), rel=1e-12)


# --- Item 2: the opt-in variance -------------------------------------------------------------


def test_sec17_theorem_4_divides_by_the_estimate_instead_of_the_group():
    """Its |p_hat| in place of |D_T| turns a variance of 2e-6 into one of nearly 1."""
    n, p, noise = 1_000, 0.002, DiscreteLaplace(0.5)
    printed = n / (n - 1) * (p * (1 - p) / abs(p) + noise.variance / n**2)
    ours = float(estimate_variance(np.array([p]), n, noise.variance)[0])
    truth = p * (1 - p) / n + noise.variance / n**2
    assert ours == pytest.approx(truth, rel=0.01)
    assert printed > 400_000 * truth


# --- Item 3: the threshold, sums of cells, and two different targets ---------------------------


def test_papers_threshold_is_one_step_higher_than_needed_at_epsilon_one():
    """Counts above 23 would leak at most delta; the paper waits for counts above 24."""
    mechanism = HeadListMechanism.for_budget(Budget(1, "1e-5"))
    assert mechanism.threshold == 24
    assert mechanism.noise.tail(23) <= 1e-5 < mechanism.noise.tail(22)


def test_sum_of_cells_carries_more_noise_than_the_paper_counts():
    """A query with four urls: four noises, of which the paper's variance has one."""
    n, s, noise = 1_200, 4, DiscreteLaplace(2.0)
    p = 0.004
    papers = float(estimate_variance(np.array([p]), n, noise.variance)[0])
    truth = p * (1 - p) / n + s * noise.variance / n**2
    assert papers < 0.4 * truth


def test_groups_of_the_paper_estimate_different_wildcards():
    """<q, unlisted url> is <*,*> for the opt-in group, but <q,*> for the clients."""
    head_list = HeadList.from_records(np.array([0]), np.array([0]))
    query_ids, url_ids = np.array([0, 0, 0, 1]), np.array([0, 5, 5, 0])
    assert count_listed_records(head_list, query_ids, url_ids).tolist() == [1, 3]
    cells = head_list.cells_of(query_ids, url_ids)
    assert np.bincount(cells, minlength=3).tolist() == [1, 2, 1]


# --- Item 8: the public prototype --------------------------------------------------------------


def test_prototypes_denoising_is_biased():
    """With (1 - t_q) for (1 - t), the expected reports do not come back as the truth."""
    response = TwoStageResponse.for_budgets(Budget("3.4"), Budget("0.6"), [3, 3, 1])
    t, a, t_q, l_q, k, k_q = map(float, stage_numbers(response, 0))
    p_q, p_qu = 0.10, 0.07
    r_qu = t * t_q * p_qu + t * l_q * (p_q - p_qu) + a / k_q * (1 - p_q)
    D = t * (t_q - l_q)
    ours = (r_qu - t * l_q * p_q - (1 - t) / (k - 1) / k_q * (1 - p_q)) / D
    prototypes = (r_qu - t * l_q * p_q - (1 - t_q) / (k - 1) / k_q * (1 - p_q)) / D
    assert ours == pytest.approx(p_qu, abs=1e-12)
    assert abs(prototypes - p_qu) > 4 * p_qu


def test_prototypes_variance_squares_one_term_only():
    """a/k_q - (t l)^2 where (a/k_q - t l)^2 belongs: a negative square."""
    response = TwoStageResponse.for_budgets(Budget("3.4"), Budget("0.6"), [4] * 50 + [1])
    t, a, _, l_q, _, k_q = map(float, stage_numbers(response, 0))
    bracket, one_term = (a / k_q - t * l_q) ** 2, a / k_q - (t * l_q) ** 2
    assert bracket == pytest.approx(0.0052, abs=0.0005)
    assert one_term < 0 < bracket
