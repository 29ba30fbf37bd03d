"""The statistical checks of this suite, and their error rates.

Every check returns a p-value that is valid for any sample size (no asymptotics where the sample
is small) and every test compares it with ALPHA. There are fewer than 1,000 comparisons, so a run
of correct code fails by chance with probability below 1e-6. Each check is paired with planted
defects that it must reject: a check that accepts everything is no check.
"""

import numpy as np
from scipy import stats

ALPHA = 1e-9


def law_p_value(observed: np.ndarray, probabilities: np.ndarray) -> float:
    """Test counts of outcomes against their exact law, every coordinate by itself.

    Two-sided exact binomial tests with Bonferroni's correction over the outcomes. `probabilities`
    may sum to less than 1; what is missing is one more outcome, and it is tested too.
    """
    observed, probabilities = np.asarray(observed), np.asarray(probabilities, dtype=float)
    n = int(observed.sum())
    lower = stats.binom.cdf(observed, n, probabilities)
    upper = stats.binom.sf(observed - 1, n, probabilities)
    return float(min(1.0, 2 * np.minimum(lower, upper).min() * len(observed)))


def mean_p_value(samples: np.ndarray, expected: np.ndarray) -> float:
    """Test that the mean over the first axis is `expected`, every coordinate by itself.

    A z-test on at least 10,000 replicates, where the normal limit is good far into the tails
    for the bounded and light-tailed estimates used here.
    """
    assert len(samples) >= 10_000, "too few replicates for the normal limit"
    standard_error = samples.std(axis=0, ddof=1) / np.sqrt(len(samples))
    z = np.abs(samples.mean(axis=0) - expected) / standard_error
    return float(min(1.0, 2 * stats.norm.sf(np.max(z)) * z.size))


def variance_ratio(estimates: np.ndarray, claimed: np.ndarray) -> np.ndarray:
    """Return claimed variance / true variance, coordinate by coordinate."""
    return claimed.mean(axis=0) / estimates.var(axis=0, ddof=1)


def replicates_for(tolerance: float, kurtosis: float = 3.0, alpha: float = ALPHA) -> int:
    """Return how many replicates bring the sample variance within `tolerance` of the true one.

    Var(s^2)/sigma^4 = (kurtosis - 1)/n; normal estimates have kurtosis 3, pure Laplace noise 6.
    """
    z = stats.norm.isf(alpha / 2)
    return int(np.ceil((kurtosis - 1) * (z / tolerance) ** 2))
