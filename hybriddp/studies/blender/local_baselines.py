"""Local frequency oracles over a known list of values: baselines for studies, never for a release.

A report *supports* some values. It supports the true value with probability p* and any other one
with q*, so p_hat = (f - q*)/(p* - q*) is unbiased for a value that a fraction f of the reports
supports (Wang, Blocki, Li, Jha 2017, section 3, "pure" protocols).
"""

import math
from dataclasses import dataclass

import numpy as np

from hybriddp.arrays import FloatArray, IntArray
from hybriddp.errors import require

K_RR, OUE, OLH = "k-rr", "oue", "olh"
ORACLES = (K_RR, OUE, OLH)


@dataclass(frozen=True, slots=True)
class FrequencyOracle:
    """The support probabilities of one protocol over `n_values` values."""

    name: str
    n_values: int
    p_truth: float
    p_lie: float

    @classmethod
    def for_epsilon(cls, name: str, epsilon: float, n_values: int) -> "FrequencyOracle":
        """Return the protocol at its best parameters (Wang et al. 2017, sections 4.1, 4.3, 4.4).

        k-RR  p* = e^eps/(e^eps + k - 1), q* = 1/(e^eps + k - 1)
        OUE   p* = 1/2, q* = 1/(e^eps + 1): every value's bit is flipped by itself
        OLH   p* = e^eps/(e^eps + g - 1), q* = 1/g: k-RR on a hash with g = e^eps + 1 values,
              rounded to a whole number
        """
        require(name in ORACLES, f"name must be one of {', '.join(ORACLES)}", name, "take one")
        require(epsilon > 0, "epsilon must be > 0", epsilon, "choose a positive one")
        require(n_values >= 2, "n_values must be >= 2", n_values, "one value needs no report")
        odds = math.exp(epsilon)
        if name == K_RR:
            total = odds + n_values - 1
            return cls(name, n_values, odds / total, 1 / total)
        if name == OUE:
            return cls(name, n_values, 0.5, 1 / (odds + 1))
        g = max(round(odds + 1), 2)
        return cls(name, n_values, odds / (odds + g - 1), 1 / g)

    @property
    def rare_variance(self) -> float:
        """Variance x n of the estimate of a value that nobody holds: q*(1-q*)/(p*-q*)^2."""
        return self.p_lie * (1 - self.p_lie) / (self.p_truth - self.p_lie) ** 2

    def simulate(self, counts: IntArray, *, rng: np.random.Generator) -> IntArray:
        """Return how many reports support each value, if `counts` users hold each (n_values,).

        Nothing is approximated. k-RR: a report is the truth with probability p* - q* and else
        uniform over all values. OUE: bits are independent, so supports are sums of two binomials.
        OLH, for an ideal (fully random) hash function per user: the reported hash depends on the
        other values' hashes in no way, so given the user's value all supports are independent,
        and supports are sums of two binomials, too. A family of real hash functions, which is
        only pairwise independent, has the same means and covariances.

        Privacy claim: none; for studies and tests, whose data is synthetic.
        """
        counts = np.asarray(counts, dtype=np.int64)
        require(
            counts.shape == (self.n_values,),
            f"counts must have one element for each of the {self.n_values} values",
            f"shape {counts.shape}",
            "count the users of every value, also of those that nobody holds",
        )
        if self.name == K_RR:
            truthful = rng.binomial(counts, self.p_truth - self.p_lie)
            n_random = int((counts - truthful).sum())
            return truthful + rng.multinomial(n_random, np.full(self.n_values, 1 / self.n_values))
        others = counts.sum() - counts
        supports: IntArray = rng.binomial(counts, self.p_truth) + rng.binomial(others, self.p_lie)
        return supports

    def estimate(self, supports: IntArray, n_users: int) -> FloatArray:
        """Return the unbiased estimates of the values' probabilities.

        Privacy claim: none; post-processing of local reports.
        """
        return (supports / n_users - self.p_lie) / (self.p_truth - self.p_lie)
