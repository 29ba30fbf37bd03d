"""How much better than promised a hybrid mean hides people from those who see only the result.

MEAN20 section 8: whoever sees nothing but one number, w mean_T + (1-w) mean_L, sees it behind the
noise of the curator and of all clients outside a coalition that shares what it knows. Two answers:

- `amplified` is MEAN20 theorem 8.1, corrected, for continuous Gaussian noise: an *idealisation*,
  for figures. No label may state it, for a release draws integers.
- `certified_apart` and `certified_together` hold for the integers that are drawn, as long as
  nothing else of them is published (not the two means, not one report). A label may state these.

Laplace noise has no place here: its sums promise no smaller epsilon (MEAN20 appendix D).
"""

import math
from dataclasses import dataclass
from fractions import Fraction

from hybriddp.errors import require, require_count
from hybriddp.noise.exact_gaussian import shift_divergence
from hybriddp.noise.exponentials import UPWARDS, exp
from hybriddp.noise.gaussian import DiscreteGaussian, classic_factor, gaussian_epsilon
from hybriddp.params import MAX_EPSILON, Budget

# A proved epsilon is searched this little above the idealised one, and stated to nine decimals.
_SURCHARGES = (1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1)
_DECIMALS = 10**9
# A label has a proof for every key, and shows four decimals; see `exact_gaussian.BLOCKS_PER_SD`.
_BLOCKS_PER_SD = 512
# A closeness that no budget can pay.
_NO_CLAIM = Fraction(MAX_EPSILON)


@dataclass(frozen=True, slots=True)
class GroupEpsilons:
    """What a member of the trusted group and a client outside the coalition lose."""

    trusted: float
    local: float

    @property
    def worst(self) -> float:
        """What anybody loses at most (MEAN20 theorem 8.1 prints the smaller of the two)."""
        return max(self.trusted, self.local)


@dataclass(frozen=True, slots=True)
class Amplified:
    """The continuous idealisation: noise, sensitivities, and the epsilons at the budget's delta.

    Each user keeps the budget anyway, so no epsilon is above the budget's.
    """

    budget: Budget
    noise_sd: float
    sensitivity_trusted: float
    sensitivity_local: float

    @property
    def exact(self) -> GroupEpsilons:
        """The epsilons by the exact divergence of Gaussian noise."""
        return GroupEpsilons(*map(self._exact, self._sensitivities))

    @property
    def classic(self) -> GroupEpsilons:
        """The epsilons by the formula of MEAN20 theorem 8.1, where it is proved."""
        return GroupEpsilons(*map(self._classic, self._sensitivities))

    @property
    def _sensitivities(self) -> tuple[float, float]:
        return self.sensitivity_trusted, self.sensitivity_local

    def _exact(self, sensitivity: float) -> float:
        if sensitivity == 0:
            return 0.0
        epsilon = gaussian_epsilon(float(self.budget.delta), sensitivity / self.noise_sd)
        return min(epsilon, float(self.budget.epsilon))

    def _classic(self, sensitivity: float) -> float:
        epsilon = classic_factor(float(self.budget.delta)) * sensitivity / self.noise_sd
        # From 1 on the formula is not proved, and only the first guarantee is left.
        return min(epsilon if epsilon < 1 else math.inf, float(self.budget.epsilon))


def amplified(
    budget: Budget,
    *,
    weight: float,
    max_value: float,
    sd_trusted: float,
    sd_local: float,
    n_trusted: int,
    n_local: int,
    n_adversaries: int = 0,
) -> Amplified:
    """Return MEAN20 theorem 8.1, corrected: a continuous idealisation.

    Values lie in [0, max_value]. `sd_trusted` is the noise of the curator's *mean*, `sd_local` that
    of one report; both keep the budget by themselves. `weight` (the paper's w) must not depend on
    anybody's value. A coalition of `n_adversaries` clients knows its own noise.
    """
    n_honest = _check_sizes(budget, n_trusted, n_local, n_adversaries)
    require(0 <= weight <= 1, "weight must be between 0 and 1", weight, "use KVH's or PWH's")
    sizes = {"max_value": max_value, "sd_trusted": sd_trusted, "sd_local": sd_local}
    for name, number in sizes.items():
        require(0 < number < math.inf, f"{name} must be above 0 and finite", number, "check it")
    per_client = (1 - weight) / n_local
    return Amplified(
        budget=budget,
        # s' of MEAN20 theorem 8.1
        noise_sd=math.hypot(weight * sd_trusted, per_client * math.sqrt(n_honest) * sd_local),
        sensitivity_trusted=weight * max_value / n_trusted,  # MEAN20 appendix D
        sensitivity_local=per_client * max_value,  # the same
    )


@dataclass(frozen=True, slots=True)
class Certified:
    """What is proved for the integers of a release against those who see one number only."""

    budget: Budget
    epsilon_trusted: Fraction
    epsilon_local: Fraction

    @property
    def epsilon(self) -> Fraction:
        """What anybody loses at most, at the budget's delta."""
        return max(self.epsilon_trusted, self.epsilon_local)


def certified_apart(
    budget: Budget,
    noise_local: DiscreteGaussian,
    *,
    largest: int,
    n_local: int,
    n_adversaries: int = 0,
) -> Certified:
    """Return what holds for any weights of the two groups' noisy sums of integers 0..largest.

    Clients are hidden by the sum of the honest clients' noises. For the trusted group *nothing*
    beyond the budget is proved, and nothing holds in general: the steps of the two sums differ, and
    a number of enough digits shows both sums. Proof: docs/proofs/amplification.md.
    """
    n_honest = _check_sizes(budget, 1, n_local, n_adversaries)
    require_count(largest, "largest")
    variance = n_honest * Fraction(noise_local.scale) ** 2
    closeness = _closeness_of_clients(noise_local, n_honest)
    return Certified(
        budget=budget,
        epsilon_trusted=budget.epsilon,
        epsilon_local=_least_epsilon(budget, variance, largest, closeness),
    )


def certified_together(
    budget: Budget,
    noise_trusted: DiscreteGaussian,
    noise_local: DiscreteGaussian,
    *,
    votes: int,
    largest: int,
    n_local: int,
    n_adversaries: int = 0,
) -> Certified:
    """Return what holds if votes times the trusted noisy sum plus the clients' is published.

    That integer, divided by votes n_trusted + n_local, is the hybrid mean of the weight
    votes n_trusted/(votes n_trusted + n_local). On this common grid both noises hide everybody, and
    theorem 8.1 (corrected) is true but for a term that is computed. `noise_trusted` is that of the
    sum. Proof: docs/proofs/amplification.md.
    """
    apart = certified_apart(
        budget, noise_local, largest=largest, n_local=n_local, n_adversaries=n_adversaries
    )
    require_count(votes, "votes")
    n_honest = n_local - n_adversaries
    clients = n_honest * Fraction(noise_local.scale) ** 2
    trusted = votes**2 * Fraction(noise_trusted.scale) ** 2
    # rho^2 of the proof: how finely the two grids together cover the integers.
    overlap = trusted / votes**2 * clients / (clients + trusted)
    closeness = _closeness_of_clients(noise_local, n_honest) + _closeness(overlap)
    variance = clients + trusted
    proved = [
        _least_epsilon(budget, variance, shift, closeness) for shift in (votes * largest, largest)
    ]
    return Certified(
        budget=budget,
        epsilon_trusted=proved[0],
        epsilon_local=min(proved[1], apart.epsilon_local),
    )


def votes_near(weight: float, *, n_trusted: int, n_local: int) -> int:
    """Return the votes of a member of the trusted group that come nearest to this weight."""
    require_count(n_trusted, "n_trusted")
    require_count(n_local, "n_local")
    require(0 <= weight < 1, "weight must be at least 0 and below 1", weight, "give clients a part")
    return max(1, round(weight * n_local / ((1 - weight) * n_trusted)))


def _closeness_of_clients(noise: DiscreteGaussian, n_honest: int) -> Fraction:
    """Bound |ln| of the law of a sum of noises over the discrete Gaussian of the same variance.

    After KLS21: each client but the first adds one convolution, whose rho^2 is at least scale^2/2.
    """
    return (n_honest - 1) * _closeness(Fraction(noise.scale) ** 2 / 2)


def _closeness(overlap: Fraction) -> Fraction:
    """Bound the same for one convolution: 5 exp(-2 pi^2 rho^2) for rho^2 >= 1/2."""
    if overlap < Fraction(1, 2):
        return _NO_CLAIM
    exponent = min(Fraction(197, 10) * overlap, Fraction(1000))  # 2 pi^2 > 19.7
    return Fraction(5 * exp(-exponent) * UPWARDS)


def _least_epsilon(budget: Budget, variance: Fraction, shift: int, closeness: Fraction) -> Fraction:
    """Return an epsilon that e^t delta(epsilon - 2t) <= budget.delta proves, t the closeness.

    delta is that of the discrete Gaussian of this variance. The budget's epsilon holds anyway.
    """
    idealised = gaussian_epsilon(float(budget.delta), shift / math.sqrt(variance))
    for surcharge in _SURCHARGES:
        wanted = Fraction(idealised * (1 + surcharge) + surcharge / 1000) + 2 * closeness
        stated = Fraction(math.ceil(wanted * _DECIMALS), _DECIMALS)
        if stated >= budget.epsilon:
            break
        divergence = shift_divergence(variance, stated - 2 * closeness, shift, _BLOCKS_PER_SD)
        if Fraction(exp(closeness) * UPWARDS * divergence) <= budget.delta:
            return stated
    return budget.epsilon


def _check_sizes(budget: Budget, n_trusted: int, n_local: int, n_adversaries: int) -> int:
    """Return how many clients are outside the coalition, whom there must be."""
    for name, count in {"n_trusted": n_trusted, "n_local": n_local}.items():
        require_count(count, name)
    require(
        type(n_adversaries) is int and 0 <= n_adversaries < n_local,
        f"n_adversaries must be a whole number from 0 to {n_local - 1}",
        n_adversaries,
        "leave at least one client outside the coalition",
    )
    require(
        budget.delta > 0,
        "delta must be above 0 for amplification",
        0,
        "Gaussian noise keeps no epsilon alone, and Laplace noise is not amplified",
    )
    return n_local - n_adversaries
