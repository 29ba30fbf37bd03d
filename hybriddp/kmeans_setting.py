"""What hybrid k-means is run with, and the noise that follows from it (MEAN20 Algorithm 1)."""

import math
from dataclasses import dataclass
from fractions import Fraction

from hybriddp.errors import require, require_count, require_one_of
from hybriddp.params import Budget, exact

# Which neighbours the curator's noise protects: MEAN20's scale covers add/remove only.
PRINTED, REPLACE_ONE = "printed", "replace-one"
_SENSITIVITY_FACTOR = {PRINTED: 1, REPLACE_ONE: 2}
# Whose noise the weight of the trusted group takes for that of its mean.
NOISE_OF_MEAN, NOISE_OF_SUM = "noise-of-mean", "noise-of-sum"


@dataclass(frozen=True, slots=True)
class KMeansSetting:
    """What all three algorithms are run with; numbers are exact, so budgets add up exactly."""

    n_clusters: int  # K
    n_iterations: int  # tau
    epsilon: Fraction
    upper: Fraction = Fraction(1)  # m
    noise: str = REPLACE_ONE
    weight: str = NOISE_OF_MEAN
    debias: bool = False  # undo what lies in randomized responses do to L's counts and sums

    def __post_init__(self) -> None:
        require_count(self.n_clusters, "n_clusters")
        require_count(self.n_iterations, "n_iterations")
        object.__setattr__(self, "epsilon", Budget(self.epsilon).epsilon)
        object.__setattr__(self, "upper", exact(self.upper, "upper"))
        require(self.upper > 0, "upper must be > 0", self.upper, "it bounds every coordinate")
        require_one_of(self.noise, "noise", tuple(_SENSITIVITY_FACTOR))
        require_one_of(self.weight, "weight", (NOISE_OF_MEAN, NOISE_OF_SUM))

    @property
    def largest(self) -> float:
        """The largest float that is not above `upper`: the noise covers no larger coordinate."""
        nearest = float(self.upper)
        return nearest if nearest <= self.upper else math.nextafter(nearest, 0.0)

    def curator_scale(self, n_dimensions: int) -> Fraction:
        """Return b_T, the scale of the noise on each of T's counts and sums (line 2)."""
        sensitivity = _SENSITIVITY_FACTOR[self.noise] * (self.upper * n_dimensions + 1)
        return sensitivity * self.n_iterations / self.epsilon

    def report_scale(self, n_dimensions: int) -> Fraction:
        """Return b_L, the scale of the noise on each coordinate of a local point (line 2)."""
        return self.upper * n_dimensions / self.response_epsilon

    @property
    def response_epsilon(self) -> Fraction:
        """What the noisy point and each of the randomized responses cost a local user."""
        return self.epsilon / (self.n_iterations + 1)
