"""How many records a draw is expected to name, by its law alone: quick, and from public data."""

from typing import Protocol

import numpy as np
import numpy.typing as npt
from scipy import special

from hybriddp.arrays import FloatArray

# Below half a record, most releases would name none.
LEAST_RECORDS = 0.5
# So many of the likeliest records are looked at; rarer ones hardly ever pass a threshold.
_N_LIKELIEST = 2_000


class Noise(Protocol):
    """What is added to a count."""

    @property
    def reach(self) -> float:
        """Beyond it lies a chance below 1e-17."""


class Naming(Protocol):
    """A mechanism that names what has a noisy count above a threshold."""

    @property
    def noise(self) -> Noise:
        """The noise of a count."""

    @property
    def threshold(self) -> int:
        """What a noisy count must exceed."""

    def release_probability(self, counts: npt.ArrayLike) -> FloatArray:
        """Return the chance that records with these counts are named."""


def expected_named(
    mechanism: Naming, n_users: int, probabilities: npt.ArrayLike, units_per_user: int = 1
) -> float:
    """Return how many of these records are named on average.

    Users hold one record each, with these probabilities, `units_per_user` times; a user who
    spreads the units over several records makes fewer of them pass, so this is no pessimist.

    Privacy claim: none; probabilities are public, and so are the sizes of groups.
    """
    every = np.asarray(probabilities, dtype=np.float64)
    if not len(every):
        return 0.0
    first = max(len(every) - _N_LIKELIEST, 0)
    law = np.sort(np.partition(every, first)[first:])[::-1]
    reach = mechanism.threshold + mechanism.noise.reach
    holders = np.arange(1, int(reach / units_per_user) + 2)
    passing = mechanism.release_probability(holders * units_per_user)
    means = n_users * law
    # As scipy.stats.poisson, which takes long to import: its pmf, and its tail beyond the last.
    logarithms = special.xlogy(holders, means[:, None]) - special.gammaln(holders + 1)
    chances = np.exp(logarithms - means[:, None]) @ passing
    return float((chances + special.pdtrc(holders[-1], means)).sum())
