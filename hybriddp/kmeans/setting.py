"""What hybrid k-means is run with, the noise that follows from it, and how tables are read."""

import math
from dataclasses import dataclass
from fractions import Fraction

from hybriddp.errors import require, require_count, require_one_of
from hybriddp.exact import exact
from hybriddp.kmeans.noise import response_law
from hybriddp.params import Budget

# Which neighbours the curator's noise protects: MEAN20's scale covers add/remove only.
PRINTED, REPLACE_ONE = "printed", "replace-one"
_SENSITIVITY_FACTOR = {PRINTED: 1, REPLACE_ONE: 2}
# Whose noise the weight of the trusted group takes for that of its mean.
NOISE_OF_MEAN, NOISE_OF_SUM = "noise-of-mean", "noise-of-sum"


@dataclass(frozen=True, slots=True)
class TableSetting:
    """How tables of counts and sums become centres: what is known of their noise, and the rules.

    Everything that is not measured again is here; who has the tables and this can do the rest.
    """

    curator_variance: float  # 2 b_T^2, of the noise on each of T's counts and sums
    report_variance: float  # 2 b_L^2, of the noise on each coordinate of a local point
    p_truth: float  # that a local user names the nearest cluster
    p_lie: float  # that it names any one other
    weight: str = NOISE_OF_MEAN
    debias: bool = True  # undo what lies in randomized responses do to L's counts and sums
    largest: float = 1.0  # no coordinate is above
    unit: int = 1  # what a person adds to a count; sums are in this unit, too

    def __post_init__(self) -> None:
        require_one_of(self.weight, "weight", (NOISE_OF_MEAN, NOISE_OF_SUM))

    @property
    def reading(self) -> tuple[float, float]:
        """The p and q by which L's tables are read: the paper takes every response for true."""
        return (self.p_truth, self.p_lie) if self.debias else (1.0, 0.0)


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

    def of_tables(self, n_dimensions: int) -> TableSetting:
        """Return how the tables that were measured with this setting are read."""
        p_truth, p_lie = response_law(self.n_clusters, self.response_epsilon)
        return TableSetting(
            float(2 * self.curator_scale(n_dimensions) ** 2),
            float(2 * self.report_scale(n_dimensions) ** 2),
            p_truth,
            p_lie,
            self.weight,
            self.debias,
            self.largest,
        )
