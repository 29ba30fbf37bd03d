"""Client side of a mean, vectorised: millions of reports, of which only sums are kept."""

import os
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from hybriddp.arrays import FloatArray, IntArray, as_integers
from hybriddp.errors import require, require_one_of
from hybriddp.mean.events import BoundedReport, ReportLaw
from hybriddp.noise.words import RandomBytes
from hybriddp.params import Budget
from hybriddp.randomizers.numbers.bounded import BitReport, WindowReport
from hybriddp.randomizers.numbers.mixed import MixedReport
from hybriddp.randomizers.numbers.reports import GaussianReport, LaplaceReport

MIXED, BIT, WINDOW, LAPLACE, GAUSSIAN = "mixed", "bit", "window", "laplace", "gaussian"
_LAWS: dict[str, Callable[[Budget, int], ReportLaw]] = {
    MIXED: MixedReport.for_budget,
    BIT: BitReport.for_budget,
    WINDOW: WindowReport.for_budget,
    LAPLACE: LaplaceReport.for_budget,
    GAUSSIAN: GaussianReport.for_budget,
}
REPORT_KINDS = tuple(_LAWS)

N_POWERS = 4
# Clients handled at a time: small enough for the arrays of one step to stay in the cache.
_CHUNK = 1 << 17


def report_law(kind: str, budget: Budget, grid: int) -> ReportLaw:
    """Return the law of this kind with the least noise within the budget."""
    require_one_of(kind, "report", REPORT_KINDS)
    return _LAWS[kind](budget, grid)


@dataclass(frozen=True, slots=True, eq=False)
class ReportSums:
    """How many reports each key has, and sums of powers of what they say, from the grid's middle.

    The higher powers say how spread out reports are, and so how spread out the values are.
    """

    n_reports: IntArray  # (n_keys,)
    powers: FloatArray  # (4, n_keys): of the first to the fourth power


@dataclass(frozen=True, slots=True)
class ClientMeanMechanism:
    """One report of each client's number."""

    budget: Budget
    law: ReportLaw

    def __post_init__(self) -> None:
        _ = self.event  # refuses a law that costs more than the budget

    @classmethod
    def for_budget(cls, budget: Budget, kind: str, grid: int) -> "ClientMeanMechanism":
        """Return the mechanism of this kind; all but Gaussian noise need no delta."""
        needed = budget if kind == GAUSSIAN else Budget(budget.epsilon)
        return cls(needed, report_law(kind, needed, grid))

    @property
    def event(self) -> BoundedReport:
        """What the ledger records for each client."""
        return BoundedReport(self.budget, self.law)

    def draw(self, values: IntArray, keys: IntArray, n_keys: int) -> ReportSums:
        """Let each client report its value; return sums over the reports of each key.

        Privacy claim
          Neighbours  one client's value replaced by any other (local model)
          Guarantee   (budget.epsilon, budget.delta) for each element of `values`; the event
                      refuses a law that costs more. Only Gaussian noise has a delta above 0.
          Assumes     which client has which key is public; the grid was fixed before these
                      clients' data was read; one call per charge
          Excludes    timing; simulated clients trust whoever runs this with their values
          Charged as  events.BoundedReport
          Reference   MEAN20 definition 3.10; docs/proofs/bounded_reports.md
          Audit       tests/mean/laws/test_draws.py::test_reports_follow_their_laws
        """
        return self._collect(values, keys, n_keys, os.urandom)

    def simulate(
        self, values: IntArray, keys: IntArray, n_keys: int, *, rng: np.random.Generator
    ) -> ReportSums:
        """Report with a study's generator.

        Privacy claim: none; for studies and tests, whose data is synthetic.
        """
        return self._collect(values, keys, n_keys, rng.bytes)

    def _collect(
        self, values: IntArray, keys: IntArray, n_keys: int, random_bytes: RandomBytes
    ) -> ReportSums:
        values, keys = as_integers(values, "values"), as_integers(keys, "keys")
        require(
            values.shape == keys.shape
            and (keys.size == 0 or bool(keys.min() >= 0 and keys.max() < n_keys)),
            f"every value needs one of {n_keys} keys",
            "others",
            "leave out people without a key",
        )
        powers = np.zeros((N_POWERS, n_keys))
        for start in range(0, len(values), _CHUNK):
            chunk = slice(start, start + _CHUNK)
            reports = self.law.randomize(values[chunk], random_bytes)
            said = self.law.estimates(reports) - self.law.grid / 2
            power = np.ones(len(said))
            for sums in powers:
                power *= said
                sums += np.bincount(keys[chunk], weights=power, minlength=n_keys)
        return ReportSums(np.bincount(keys, minlength=n_keys).astype(np.int64), powers)
