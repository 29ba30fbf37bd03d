"""What local reports with less noise than Laplace's do for a hybrid mean, in closed form.

Ours: MEAN20 has Laplace reports only. Values are Beta(1, 1), the uniform law on the range, and
noise is stated in squares of the range.
"""

import math
from dataclasses import dataclass
from fractions import Fraction

from hybriddp.errors import require_one_of
from hybriddp.mean.clients import BIT, LAPLACE, MIXED, WINDOW, report_law
from hybriddp.params import Budget
from hybriddp.randomizers.numbers.errors import MeanSetting, laplace_noise
from hybriddp.randomizers.numbers.grid import DEFAULT_STEPS
from hybriddp.studies.means.data import DATA, MEDIUM
from hybriddp.studies.zealous.parameters import CLOSED_FORM, Row

KINDS = (LAPLACE, BIT, WINDOW, MIXED)
NOISE_PART = "report"
USERS = (1_000, 10_000, 100_000)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportSetting:
    """One kind of report with one epsilon; its noise, and its effect for several n, are parts."""

    kind: str = "reports"
    item_kind: str = MEDIUM
    method: str = LAPLACE
    epsilon: float = 1.0
    optin_fraction: float = 0.05
    population: str = CLOSED_FORM
    is_quick: bool = False

    def __post_init__(self) -> None:
        for name in ("epsilon", "optin_fraction"):
            object.__setattr__(self, name, float(getattr(self, name)))
        require_one_of(self.method, "method", KINDS)
        require_one_of(self.item_kind, "item_kind", (MEDIUM,))


def run_reports(study: str, setting: ReportSetting, seed: int, people: None) -> list[Row]:
    """Compute noise and errors; study, seed and people play no part in it."""
    worst, average = report_noise(setting.method, setting.epsilon)
    noise: Row = {
        "part": NOISE_PART,
        "report_noise_worst": worst,
        "report_noise_average": average,
    }
    return [noise, *(_errors(setting, n_users, average) for n_users in USERS)]


def report_noise(kind: str, epsilon: float) -> tuple[float, float]:
    """Return a report's variance at the worst value, and on average over the whole range."""
    steps = DEFAULT_STEPS
    noise = report_law(kind, Budget(epsilon), steps).noise
    largest = noise.largest(steps) / Fraction(steps) ** 2
    return float(largest), noise.mean(steps / 2, steps**2 / 12) / steps**2


def _errors(setting: ReportSetting, n_users: int, average: float) -> Row:
    """Return the error of KVH, the curator's noise being Laplace's, whatever clients report."""
    error = _squared_error(setting, n_users, average)
    _, of_laplace = report_noise(LAPLACE, setting.epsilon)
    return {
        "part": str(n_users),
        "mean_error": math.sqrt(error),
        "error_over_laplace": error / _squared_error(setting, n_users, of_laplace),
    }


def _squared_error(setting: ReportSetting, n_users: int, local_noise: float) -> float:
    c, variance = setting.optin_fraction, DATA[setting.item_kind].trusted_variance
    trusted_noise, _ = laplace_noise(c * n_users, 1.0, setting.epsilon)
    blend = MeanSetting.alike(n_users, c, trusted_noise, local_noise, variance)
    return float(blend.error_hybrid(blend.weight_known_variance))
