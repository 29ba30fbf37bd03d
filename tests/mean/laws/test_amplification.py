"""What those who see only the result can learn: MEAN20 theorem 8.1 on laws that are enumerated.

The toy: 2 members of the trusted group and 30 clients hold integers from 0 to 2. Laws are convolved
term by term; `divergence` brackets the exact number by the mass that was cut off.
"""

import math
from fractions import Fraction

import numpy as np
import pytest

from hybriddp.errors import InvalidParameter
from hybriddp.mean import amplification
from hybriddp.mean.amplification import amplified, certified_apart, certified_together, votes_near
from hybriddp.noise.exact_gaussian import shift_divergence
from hybriddp.noise.gaussian import DiscreteGaussian, classic_factor, classic_sd, gaussian_delta
from hybriddp.params import Budget

pytestmark = pytest.mark.exact

BUDGET, LARGEST, N_TRUSTED, N_LOCAL = Budget(1, "1e-3"), 2, 2, 30
NOISE = DiscreteGaussian.for_budget(BUDGET, LARGEST)  # of scale 5.2: for the sum and for a report


def law_of(noise: DiscreteGaussian, reach: int | None = None) -> np.ndarray:
    """Probabilities of -reach..reach; twelve scales leave out 1e-32."""
    reach = math.ceil(12 * noise.scale) if reach is None else reach
    return noise.pmf(np.arange(-reach, reach + 1))


def law_of_sum(noise: DiscreteGaussian, n: int) -> np.ndarray:
    law = total = law_of(noise)
    for _ in range(n - 1):
        total = np.convolve(total, law)
    return total


def stretched(law: np.ndarray, step: int) -> np.ndarray:
    """Return the law of step times a number."""
    longer = np.zeros((len(law) - 1) * step + 1)
    longer[::step] = law
    return longer


def divergence(law: np.ndarray, shift: int, epsilon: float) -> tuple[float, float]:
    """Bracket sum max(0, p(x) - e^epsilon p(x + shift)); what was cut off may be anywhere."""
    missing = max(0.0, 1 - law.sum()) + 1e-12
    here, there = np.append(law, np.zeros(shift)), np.append(np.zeros(shift), law)
    total = float(np.maximum(0, here - math.exp(epsilon) * there).sum())
    return total - math.exp(epsilon) * missing, total + missing


def published_law(votes: int, n_honest: int) -> np.ndarray:
    """The noise of votes times the trusted sum plus the sum of the reports."""
    return np.convolve(stretched(law_of(NOISE), votes), law_of_sum(NOISE, n_honest))


def idealised(votes: float, n_adversaries: int = 0):
    """The continuous theorem for the same noises and weights."""
    weight = votes * N_TRUSTED / (votes * N_TRUSTED + N_LOCAL)
    return amplified(
        BUDGET,
        weight=weight,
        max_value=LARGEST,
        sd_trusted=NOISE.scale / N_TRUSTED,
        sd_local=NOISE.scale,
        n_trusted=N_TRUSTED,
        n_local=N_LOCAL,
        n_adversaries=n_adversaries,
    )


def printed_epsilon(votes: int, n_honest: int) -> float:
    """MEAN20 theorem 8.1 as printed: the smaller sensitivity, in units of the grid."""
    sd = NOISE.scale * math.sqrt(votes**2 + n_honest)
    return classic_factor(float(BUDGET.delta)) * LARGEST * min(1, votes) / sd


@pytest.mark.parametrize(("votes", "n_adversaries"), [(3, 0), (5, 10), (10, 0)])
def test_printed_theorem_is_violated_by_integers_and_the_certified_one_holds(votes, n_adversaries):
    delta, n_honest = float(BUDGET.delta), N_LOCAL - n_adversaries
    law = published_law(votes, n_honest)
    printed = printed_epsilon(votes, n_honest)
    assert divergence(law, votes * LARGEST, printed)[0] > 10 * delta
    proved = certified_together(
        BUDGET, NOISE, NOISE,
        votes=votes, largest=LARGEST, n_local=N_LOCAL, n_adversaries=n_adversaries,
    )  # fmt: skip
    for shift, epsilon in (
        (votes * LARGEST, proved.epsilon_trusted),
        (LARGEST, proved.epsilon_local),
    ):
        assert epsilon < BUDGET.epsilon
        assert divergence(law, shift, float(epsilon))[1] <= delta
        assert divergence(law, shift, 0.99 * float(epsilon))[0] > delta, "the claim is tight"
    assert proved.epsilon == proved.epsilon_trusted


@pytest.mark.parametrize("votes", [3, 10])
def test_certified_is_near_the_corrected_theorem_on_a_common_grid(votes):
    proved = certified_together(BUDGET, NOISE, NOISE, votes=votes, largest=LARGEST, n_local=N_LOCAL)
    exact = idealised(votes).exact
    assert float(proved.epsilon_trusted) == pytest.approx(exact.trusted, rel=0.01)
    assert float(proved.epsilon_local) == pytest.approx(exact.local, rel=0.01)


def test_corrected_theorem_is_wrong_for_integers_of_different_steps():
    """1009 A + 1000 B shows both sums: the clients' noise hides nobody in the trusted group."""
    trusted, clients = law_of(NOISE, 45), law_of_sum(NOISE, N_LOCAL)
    clients = clients[len(clients) // 2 - 250 : len(clients) // 2 + 251]
    law = np.zeros(1009 * 90 + 1000 * 500 + 1)  # one number for each output; most are empty
    places = 1009 * np.arange(91)[:, None] + 1000 * np.arange(501)
    np.add.at(law, places, trusted[:, None] * clients)
    shift, delta = 1009 * LARGEST, float(BUDGET.delta)
    promised = idealised(1.009).exact.trusted
    assert promised < 0.2
    assert divergence(law, shift, promised)[0] > 10 * delta
    proved = certified_apart(BUDGET, NOISE, largest=LARGEST, n_local=N_LOCAL)
    assert proved.epsilon_trusted == BUDGET.epsilon
    assert divergence(law, shift, 0.95)[0] > delta, "the first guarantee is all there is"


@pytest.mark.parametrize("n_adversaries", [0, 20, 29])
def test_clients_are_hidden_by_the_honest_clients_noise_alone(n_adversaries):
    proved = certified_apart(
        BUDGET, NOISE, largest=LARGEST, n_local=N_LOCAL, n_adversaries=n_adversaries
    )
    law, delta = law_of_sum(NOISE, N_LOCAL - n_adversaries), float(BUDGET.delta)
    epsilon = float(proved.epsilon_local)
    assert divergence(law, LARGEST, epsilon)[1] <= delta
    assert divergence(law, LARGEST, 0.98 * epsilon)[0] > delta
    assert proved.epsilon_trusted == BUDGET.epsilon


@pytest.mark.parametrize(("scale", "n_clients", "votes"), [(1.0, 2, 0), (1.0, 4, 2), (1.5, 4, 3)])
def test_sums_are_within_the_closeness_that_is_charged(scale, n_clients, votes):
    """|ln| of the law over the discrete Gaussian of its variance, everywhere within 7 scales."""
    noise, charged = DiscreteGaussian(scale), Fraction(0)
    law, clients = law_of_sum(noise, n_clients), n_clients * scale**2
    charged += amplification._closeness_of_clients(noise, n_clients)
    if votes:
        law = np.convolve(stretched(law_of(noise), votes), law)
        overlap = scale**2 * clients / (clients + (votes * scale) ** 2)
        charged += amplification._closeness(Fraction(overlap))
    variance = clients + (votes * scale) ** 2
    middle, reach = len(law) // 2, math.floor(7 * math.sqrt(variance))
    x = np.arange(-reach, reach + 1)
    gaussian = np.exp(-(x**2) / (2 * variance))
    ratios = np.log(law[middle - reach : middle + reach + 1] / (gaussian / gaussian.sum()))
    assert charged / 20 < np.abs(ratios).max() <= charged


def test_closeness_is_paid_for():
    """At scale 1 the sum of 30 noises is charged 29 * 5 exp(-9.85) = .0076, twice."""
    noise, budget = DiscreteGaussian(1.0), Budget(3, "1e-3")
    proved = certified_apart(budget, noise, largest=1, n_local=30).epsilon_local
    paid = 2 * amplification._closeness_of_clients(noise, 30)
    assert float(paid) == pytest.approx(2 * 29 * 5 * math.exp(-9.85))
    assert shift_divergence(Fraction(30), proved - paid, 1) <= budget.delta * Fraction(993, 1000)
    assert shift_divergence(Fraction(30), Fraction(99, 100) * (proved - paid), 1) > budget.delta


def test_grids_that_are_too_coarse_get_no_claim():
    coarse, fine = DiscreteGaussian(0.75), DiscreteGaussian(2.0)
    sizes = {"largest": 1, "n_local": 1000}
    assert certified_apart(BUDGET, coarse, **sizes).epsilon == BUDGET.epsilon
    # The clients' sum of scale 63 lies between the steps of votes 100 times the trusted sum.
    apart = certified_apart(BUDGET, fine, **sizes)
    together = certified_together(BUDGET, fine, fine, votes=100, **sizes)
    assert together.epsilon_trusted == BUDGET.epsilon
    assert together.epsilon_local == apart.epsilon_local < BUDGET.epsilon


def uc_salaries() -> dict[str, float]:
    """The setting of figure 7 at c = 1 % (tests/errata/test_mean.py, item 4)."""
    n_trusted, n_local, max_value, data_sd = 2_525, 250_015, 2_349_033, 53_254
    sd_local = classic_sd(Budget(1, "1e-7"), max_value)
    sd_trusted, c, n = sd_local / n_trusted, n_trusted / 252_540, 252_540
    noise = n * sd_trusted**2 * (1 - c) + sd_local**2
    return {
        "weight": c * (data_sd**2 + sd_local**2) / (data_sd**2 + c * noise),  # MEAN20 Def. 4.1
        "max_value": max_value,
        "sd_trusted": sd_trusted,
        "sd_local": sd_local,
        "n_trusted": n_trusted,
        "n_local": n_local,
    }


def test_uc_salaries_are_hidden_by_0_979_and_not_by_the_printed_4e_4():
    found = amplified(Budget(1, "1e-7"), **uc_salaries())
    assert f"{min(found.classic.trusted, found.classic.local):.1e}" == "4.0e-04"  # as printed
    assert f"{found.classic.worst:.3f}" == "0.979"
    assert f"{found.exact.worst:.2f}" == "0.79"
    assert found.exact.worst == found.exact.trusted
    ratio = found.sensitivity_trusted / found.noise_sd
    assert gaussian_delta(4.0e-4, ratio) == pytest.approx(0.0681, abs=1e-3)
    assert gaussian_delta(found.exact.worst, ratio) <= 1e-7 < gaussian_delta(0.79, ratio)


def test_uc_salaries_on_a_grid_of_a_thousand_steps_keep_the_idealised_number():
    budget, setting, largest = Budget(1, "1e-7"), uc_salaries(), 1000
    noise = DiscreteGaussian.for_budget(budget, largest)
    sizes = {"n_trusted": setting["n_trusted"], "n_local": setting["n_local"]}
    votes = votes_near(setting["weight"], **sizes)
    weight = votes * 2_525 / (votes * 2_525 + 250_015)
    assert weight == pytest.approx(setting["weight"], rel=1e-3)
    proved = certified_together(budget, noise, noise, votes=votes, largest=largest, n_local=250_015)
    ideal = amplified(
        budget, weight=weight, max_value=largest, sd_trusted=noise.scale / 2_525,
        sd_local=noise.scale, **sizes,
    )  # fmt: skip
    assert ideal.exact.trusted <= proved.epsilon_trusted < ideal.exact.trusted * (1 + 1e-5)
    assert ideal.exact.local <= proved.epsilon_local < ideal.exact.local * (1 + 1e-4)


def test_nobody_is_promised_more_than_the_budget_or_a_formula_that_is_not_proved():
    setting = {**uc_salaries(), "weight": 1.0}
    alone = amplified(Budget(1, "1e-7"), **setting)
    assert alone.classic.trusted == pytest.approx(1)
    assert alone.exact.local == alone.classic.local == 0
    noisier = amplified(Budget("0.5", "1e-7"), **setting)
    assert noisier.exact.trusted == noisier.classic.trusted == 0.5
    beyond = amplified(Budget(4, "1e-7"), **{**setting, "sd_trusted": 1500.0})
    assert beyond.classic.trusted == 4, "the formula says more than 1, where it is not proved"
    assert 1 < beyond.exact.trusted < 4


def test_larger_coalitions_leave_less():
    found = [amplified(Budget(1, "1e-7"), **uc_salaries(), n_adversaries=a) for a in (0, 9**5)]
    assert found[0].exact.worst < found[1].exact.worst < 1
    assert found[0].classic.worst < found[1].classic.worst < 1
    locals_ = [
        certified_apart(BUDGET, NOISE, largest=LARGEST, n_local=30, n_adversaries=a).epsilon_local
        for a in (0, 15, 29)
    ]
    assert locals_ == sorted(set(locals_))
    assert locals_[-1] <= BUDGET.epsilon


def test_settings_without_an_honest_client_or_a_delta_are_refused():
    with pytest.raises(InvalidParameter, match="n_adversaries must be"):
        amplified(BUDGET, **{**uc_salaries(), "n_local": 5}, n_adversaries=5)
    with pytest.raises(InvalidParameter, match="delta must be above 0"):
        certified_apart(Budget(1), NOISE, largest=LARGEST, n_local=30)
    with pytest.raises(InvalidParameter, match="weight must be between"):
        amplified(BUDGET, **{**uc_salaries(), "weight": 1.5})
    with pytest.raises(InvalidParameter, match="votes must be"):
        certified_together(BUDGET, NOISE, NOISE, votes=0, largest=2, n_local=30)
    assert isinstance(certified_apart(BUDGET, NOISE, largest=2, n_local=3).epsilon, Fraction)
