"""The same people in every week of a year: who opted in, and how much they search."""

from dataclasses import dataclass

import numpy as np

from hybriddp.arrays import FloatArray, IntArray
from hybriddp.blender.weighted.searches import Searches
from hybriddp.studies.series.laws import WeekLaw


@dataclass(frozen=True, slots=True, eq=False)
class People:
    """Those who opted in, with how many records each has in a week on average, and all others."""

    rates: FloatArray  # of those who opted in; each has one record more than a Poisson number
    n_clients: int

    @classmethod
    def sample(
        cls, n_users: int, optin_fraction: float, records: float, *, rng: np.random.Generator
    ) -> "People":
        """Draw people with so many records a week on average, some with many more than others.

        Privacy claim: none; synthetic data.
        """
        n_optin = round(n_users * optin_fraction)
        return cls(rng.exponential(max(records - 1, 0), n_optin), n_users - n_optin)

    @property
    def n_optin(self) -> int:
        """How many opted in."""
        return len(self.rates)

    def group(self, week: int, n_weeks: int) -> IntArray:
        """Return who of those who opted in take part in a week, if each does once a year.

        Privacy claim: none; synthetic data.
        """
        return np.arange(week - 1, self.n_optin, n_weeks)

    def n_clients_of(self, n_weeks: int) -> int:
        """Return how many clients report in a week, if each does once a year."""
        return self.n_clients // n_weeks

    def searches(self, law: WeekLaw, *, rng: np.random.Generator) -> Searches:
        """Draw a week's records of everybody who opted in.

        Privacy claim: none; synthetic data.
        """
        sizes = 1 + rng.poisson(self.rates).astype(np.int64)
        return Searches(sizes, *law.sample(int(sizes.sum()), rng=rng))
