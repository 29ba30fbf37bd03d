"""k-ary randomized response as the integers that it is sampled with.

Standard library only: a client on a device and a simulated client share this one law.

A report is decided by one uniform 64-bit word. Each of the k-1 lies owns `lie_words` of the
2^64 words, the truth owns all others. So probabilities are exact fractions, sampling needs one
comparison and one integer division, and no floating-point rounding stands between the law
whose privacy we compute and the law that is drawn.
"""

import math
import secrets
from dataclasses import dataclass
from decimal import ROUND_CEILING
from fractions import Fraction

from hybriddp.errors import require
from hybriddp.noise.exponentials import EXACT, UPWARDS, decimal_of, exp
from hybriddp.params import Budget

N_WORDS = 1 << 64
MAX_VALUES = 1 << 32


@dataclass(frozen=True, slots=True)
class RandomizedResponse:
    """Report one of `n_values` values: the truth, or with `lie_words`/2^64 each other value."""

    n_values: int
    lie_words: int

    def __post_init__(self) -> None:
        require(
            1 <= self.n_values <= MAX_VALUES,
            f"n_values must lie between 1 and {MAX_VALUES}",
            self.n_values,
            "a report needs at least one possible value",
        )
        require(
            type(self.n_values) is type(self.lie_words) is int,
            "n_values and lie_words must be Python integers",
            f"{type(self.n_values).__name__} and {type(self.lie_words).__name__}",
            "a machine integer would overflow in the exact law",
        )
        least, most = (0, 0) if self.n_values == 1 else (1, (N_WORDS - 1) // self.n_values)
        require(
            least <= self.lie_words <= most,
            f"lie_words must lie between {least} and {most} for {self.n_values} values",
            self.lie_words,
            "a lie must be possible, but less likely than the truth",
        )

    @property
    def numbers(self) -> list[int]:
        """What it draws with, as a ledger keeps it."""
        return [self.n_values, self.lie_words]

    @classmethod
    def for_budget(cls, budget: Budget, n_values: int) -> "RandomizedResponse":
        """Build the response of JPC19 figure 6, lines 4 and 6.

        t = (e^eps + (delta/2)(k-1)) / (e^eps + k-1), so each lie has
        (1-t)/(k-1) = (1 - delta/2) / (e^eps + k-1), rounded up to a whole word: rounding
        only ever makes the report more private.
        """
        if n_values == 1:  # the only value there is; nothing to hide
            return cls(1, 0)
        lie = EXACT.divide(
            decimal_of((1 - budget.delta / 2) * N_WORDS),
            EXACT.add(exp(budget.epsilon), n_values - 1),
        )
        lie_words = int(EXACT.multiply(lie, UPWARDS).to_integral_value(ROUND_CEILING))
        require(
            n_values * lie_words < N_WORDS,
            f"epsilon must be large enough to tell {n_values} values apart",
            f"{float(budget.epsilon):.3g}",
            "raise epsilon or shorten the list: such reports would be noise only",
        )
        return cls(n_values, lie_words)

    @property
    def p_lie(self) -> Fraction:
        """Probability of one particular lie."""
        return Fraction(self.lie_words, N_WORDS)

    @property
    def p_truth(self) -> Fraction:
        """Probability of the true value."""
        return 1 - (self.n_values - 1) * self.p_lie

    def pmf(self, value: int) -> list[Fraction]:
        """Return the exact law of the report of `value`, over all values."""
        law = [self.p_lie] * self.n_values
        law[value] = self.p_truth
        return law

    @property
    def epsilon(self) -> float:
        """The pure privacy loss ln(p_truth / p_lie), rounded up; 0 for a single value."""
        if self.n_values == 1:
            return 0.0
        # log1p keeps its precision for tiny losses; the factor covers its last-place error.
        return math.log1p((self.p_truth - self.p_lie) / self.p_lie) * (1 + 2**-50)

    def draw(self, value: int) -> int:
        """Report `value` once, with the operating system's randomness.

        Privacy claim
          Neighbours  one client's value replaced by any other (local model)
          Guarantee   the loss is at most `epsilon`; with delta > 0 in the budget,
                      (budget.epsilon, budget.delta)
          Assumes     the list of values was fixed before this client's data was read;
                      one call per charge
          Excludes    timing
          Charged as  events.ClientReport
          Reference   JPC19 figure 6
          Audit       tests/randomizers/test_response.py::test_log_ratio_never_exceeds_epsilon
        """
        require(
            0 <= value < self.n_values,
            f"value must be one of the {self.n_values} values",
            "another",
            "map it to the wildcard first",
        )
        word = secrets.randbits(64)
        if word >= (self.n_values - 1) * self.lie_words:
            return value
        lie = word // self.lie_words
        return lie + (lie >= value)  # skip over the truth
