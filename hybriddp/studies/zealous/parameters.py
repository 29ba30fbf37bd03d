"""Tables 1 and 2 of ZEAL, and the thresholds of our mechanism, in closed form: nothing is drawn."""

import math
from dataclasses import dataclass
from fractions import Fraction

from hybriddp.errors import require_one_of
from hybriddp.noise.laplace import DiscreteLaplace
from hybriddp.params import Budget
from hybriddp.zealous.events import (
    INDISTINGUISHABLE,
    PROBABILISTIC,
    RELAXATIONS,
    histogram_limit,
    passing_probability,
)
from hybriddp.zealous.mechanism import ZealousMechanism

Row = dict[str, float | str | None]

# What is asked for: which deltas thresholds promise, or which second threshold a delta needs.
DELTAS, SECOND_THRESHOLD = "deltas", "second-threshold"
# Noise of ZEAL's theorems, or that of our mechanism.
CONTINUOUS, WHOLE_NUMBERS = "continuous", "whole-numbers"
CLOSED_FORM = "closed-form"  # stands where others have a population
PART = "all"


@dataclass(frozen=True, slots=True, kw_only=True)
class ParameterSetting:
    """One entry of a table; a first threshold of 0 asks for the best one."""

    kind: str
    method: str = CONTINUOUS
    relaxation: str = PROBABILISTIC
    items_per_user: int = 5
    n_users: int = 500_000
    epsilon: float = 1.0
    delta: float = 0.001
    first_threshold: int = 1
    threshold: int = 0
    population: str = CLOSED_FORM
    is_quick: bool = False

    def __post_init__(self) -> None:
        for name in ("epsilon", "delta"):
            object.__setattr__(self, name, float(getattr(self, name)))
        for name, known in (
            ("kind", (DELTAS, SECOND_THRESHOLD)),
            ("method", (CONTINUOUS, WHOLE_NUMBERS)),
            ("relaxation", RELAXATIONS),
        ):
            require_one_of(getattr(self, name), name, known)

    @property
    def noise_scale(self) -> float:
        """ZEAL's lambda, 2m/epsilon."""
        return 2 * self.items_per_user / self.epsilon


def run_parameters(study: str, setting: ParameterSetting, seed: int, people: None) -> list[Row]:
    """Compute one entry; study, seed and people play no part in it."""
    if setting.kind == DELTAS:
        find = _continuous_deltas if setting.method == CONTINUOUS else _whole_deltas
        delta, delta_prime = find(setting)
        return [{"part": PART, "table_delta": delta, "table_delta_prime": delta_prime}]
    is_whole = setting.method == WHOLE_NUMBERS
    second = _whole_threshold(setting) if is_whole else _continuous_threshold(setting)
    return [{"part": PART, "second_threshold": second}]


def _continuous_deltas(setting: ParameterSetting) -> tuple[float, float]:
    """Return delta of theorem 2 and delta' of theorem 1 as corrected (docs/errata.md, 6).

    delta = U m/(2 tau) e^(-(tau'-tau)/lambda), delta' = m/2 e^(-(tau'-m)/lambda). The second has
    room for one item counted m times; that is how Table 1 was computed.
    """
    m, scale = setting.items_per_user, setting.noise_scale
    tau, tau_prime = setting.first_threshold, setting.threshold
    delta = setting.n_users * m / (2 * tau) * math.exp(-(tau_prime - tau) / scale)
    return min(delta, 1.0), min(m / 2 * math.exp(-(tau_prime - m) / scale), 1.0)


def _whole_deltas(setting: ParameterSetting) -> tuple[float, float]:
    """Return both deltas that our mechanism would be charged with for these thresholds."""
    m, tau = setting.items_per_user, setting.first_threshold
    passing = float(passing_probability(setting.noise_scale, setting.threshold - tau))
    return min(setting.n_users * m / tau * passing, 1.0), min(m * passing, 1.0)


def _continuous_threshold(setting: ParameterSetting) -> float:
    """Return the least tau' of theorem 2, or of theorem 1 for different items (errata 6)."""
    m, scale, tau = setting.items_per_user, setting.noise_scale, setting.first_threshold
    if setting.relaxation == INDISTINGUISHABLE:
        return 1 - scale * math.log(2 * setting.delta / m)
    tau = tau or math.ceil(scale)  # ZEAL proposition 4
    share = 2 * setting.delta * tau / (setting.n_users * m)
    return tau - scale * math.log(min(share, 2 * -math.expm1(-1 / scale)))


def _whole_threshold(setting: ParameterSetting) -> float:
    budget, m = Budget(setting.epsilon, setting.delta), setting.items_per_user
    if setting.first_threshold == 0 or setting.relaxation == INDISTINGUISHABLE:
        best = ZealousMechanism.for_budget(budget, setting.relaxation, m, setting.n_users)
        return float(best.threshold)
    scale, tau = DiscreteLaplace.for_epsilon(budget.epsilon, 2 * m).scale, setting.first_threshold
    most = histogram_limit(budget, setting.relaxation, scale, tau, m, setting.n_users)
    distance = 0
    while Fraction(passing_probability(scale, distance)) > most:
        distance += 1
    return float(tau + distance)
