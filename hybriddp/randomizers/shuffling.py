"""What clients are promised against those who see only how often each cell was reported.

Amplification by shuffling (FMT21): whoever sees reports without their senders cannot tell one
client's from the others' that look alike. It is a second guarantee beside the local one; it does
not hold against the curator, and nobody is charged less for it.
"""

import math
from fractions import Fraction
from functools import lru_cache

import numpy as np
from scipy import special

from hybriddp.arrays import FloatArray
from hybriddp.errors import require, require_count
from hybriddp.params import Budget

# Epsilons are stated in these steps, rounded up.
_STEPS = 10_000
# How far floats may be off, as a part: logarithms of factorials of millions have nine digits.
_ROUNDING = 1e-7
# Counts of clones beyond what is summed up have together a chance of twice e to minus this.
_REACH = 50.0


@lru_cache(maxsize=256)
def shuffled_epsilon(local: Fraction, delta: Fraction, n_honest: int) -> Fraction:
    """Return the least epsilon that is proved at delta for n honest clients, rounded up.

    Each of them keeps `local` by itself, with no delta, in one report. The local epsilon holds
    anyway, so no larger one is returned (docs/proofs/shuffling.md).
    """
    require_count(n_honest, "n_honest")
    Budget(local)  # refuses what is no epsilon
    require(0 < delta < 1, "delta must be above 0 and below 1", float(delta), "use 1e-6")
    low, high = 0, math.ceil(local * _STEPS)
    if clones_delta(high / _STEPS, float(local), n_honest) > delta:
        return local
    while low < high:
        middle = (low + high) // 2
        is_enough = clones_delta(middle / _STEPS, float(local), n_honest) <= delta
        low, high = (low, middle) if is_enough else (middle + 1, high)
    return min(Fraction(low, _STEPS), local)


def clones_delta(epsilon: float, local: float, n_clients: int) -> float:
    """Return the divergence of FMT21 theorem 3.1 at epsilon, rounded up.

    With C ~ Bin(n-1, e^-local) clones, A ~ Bin(C, 1/2) and D ~ Bernoulli(p), where
    p = e^local/(e^local+1): (A + D, C - A + 1 - D) against (A + 1 - D, C - A + D). Given C = c
    the likelihood ratio rises in the first count a, so the best set is a >= k: its probabilities
    are those of binomial tails.

    Privacy claim: none; it reads nobody's data.
    """
    p, other = math.exp(local) / (math.exp(local) + 1), 1 / (math.exp(local) + 1)
    clones, chances = _clones(n_clients - 1, math.exp(-local))
    if epsilon >= local:
        return 0.0
    factor = math.exp(epsilon)
    ratio = (factor * p - other) / (p - factor * other)  # of a/(c - a + 1), where both are equal
    first = np.floor(ratio * (clones + 1) / (1 + ratio)) + 1
    more, enough = _half_tail(clones, first - 1), _half_tail(clones, first)
    here, there = p * more + other * enough, other * more + p * enough
    gained = here * (1 + _ROUNDING) - factor * there * (1 - _ROUNDING)
    missed = 2 * math.exp(-_REACH)
    return min(1.0, float(chances @ np.maximum(gained, 0)) * (1 + _ROUNDING) + missed)


def _clones(n: int, chance: float) -> tuple[FloatArray, FloatArray]:
    """Return all numbers of clones that are not far from their mean, and their chances.

    Bernstein: P(|C - mean| > t) <= 2 exp(-t^2/(2 (variance + t/3))).
    """
    mean, variance = n * chance, n * chance * (1 - chance)
    reach = _REACH / 3 + math.sqrt((_REACH / 3) ** 2 + 2 * _REACH * variance)
    low, high = max(0, math.floor(mean - reach)), min(n, math.ceil(mean + reach))
    clones = np.arange(low, high + 1.0)
    ways = special.gammaln(n + 1) - special.gammaln(clones + 1) - special.gammaln(n - clones + 1)
    logs = ways + clones * math.log(chance) + (n - clones) * math.log1p(-chance)
    return clones, np.exp(logs)


def _half_tail(n: FloatArray, least: FloatArray) -> FloatArray:
    """Return P(Bin(n, 1/2) >= least)."""
    inside = (least >= 1) & (least <= n)
    tails = special.betainc(np.where(inside, least, 1), np.where(inside, n - least + 1, 1), 0.5)
    result: FloatArray = np.where(inside, tails, np.where(least < 1, 1.0, 0.0))
    return result
