"""Figures 1 to 5 and 8 of MEAN20 in closed form: how much better than its baselines a hybrid is.

Noise is Laplace's. Nothing is drawn: where a weight depends on what was drawn, its error is an
expectation by quadrature.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from hybriddp.errors import require, require_one_of
from hybriddp.mean.estimate import ESTIMATED, KNOWN, PRIVACY
from hybriddp.randomizers.numbers.errors import MeanSetting, laplace_noise
from hybriddp.studies.means.data import CONTROLS, DATA, MeanData
from hybriddp.studies.means.weights import error_of_estimated_weight
from hybriddp.studies.zealous.parameters import CLOSED_FORM, Row

# What the parts of a run are: numbers of users, or trusted ones among so many.
BY_USERS, BY_FRACTION = "by-users", "by-fraction"
OF_SO_MANY = 10_000
# MEAN20 figures 1 and 3 to 5: n from 10^3 to 10^5. Figures 2 and 8: c from .1 % to 10 %.
USERS = (
    1_000, 1_500, 2_000, 3_000, 5_000, 7_000, 10_000, 15_000, 20_000, 30_000, 50_000, 70_000,
    100_000,
)  # fmt: skip
TRUSTED_OF_SO_MANY = (  # denser where lines have their peaks
    10, 14, 16, 18, 20, 22, 25, 28, 32, 36, 40, 45, 50, 56, 63, 80, 100, 130, 160, 200, 225, 250,
    280, 320, 400, 500, 630, 800, 1_000,
)  # fmt: skip

# A twentieth of the budget and what reports tell for nothing, or the latter alone.
PAID, FREE = ESTIMATED, "free-variance"
VARIANCE_SHARE = 0.05
METHODS = (KNOWN, PRIVACY, PAID, FREE)


@dataclass(frozen=True, slots=True, kw_only=True)
class MeanStudySetting:
    """One line of a plot; its points are the parts of the run.

    `item_kind` is the name of the data: pages show it by the word of the other studies.
    """

    kind: str
    item_kind: str
    method: str = KNOWN
    epsilon: float = 1.0
    optin_fraction: float = 0.05  # c; say 0 where that is what the parts are
    population: str = CLOSED_FORM
    is_quick: bool = False

    def __post_init__(self) -> None:
        for name in ("epsilon", "optin_fraction"):
            object.__setattr__(self, name, float(getattr(self, name)))
        for name, known in (
            ("kind", (BY_USERS, BY_FRACTION)),
            ("item_kind", tuple(DATA)),
            ("method", METHODS),
        ):
            require_one_of(getattr(self, name), name, known)
        require(
            self.kind == BY_USERS or DATA[self.item_kind].n_users is not None,
            "data whose trusted share is varied must have a number of users",
            self.item_kind,
            "vary the users of synthetic data instead",
        )
        require(
            self.method not in (PAID, FREE) or self.item_kind not in CONTROLS,
            "a variance is estimated for groups that are alike only",
            self.item_kind,
            "use known-variance or privacy",
        )


@dataclass(frozen=True, slots=True)
class _Point:
    part: str
    n_users: int
    trusted_fraction: float


def run_mean_study(study: str, setting: MeanStudySetting, seed: int, people: None) -> list[Row]:
    """Compute every point of a line; study, seed and people play no part in it."""
    return [_measure(setting, point) for point in _points(setting)]


def _points(setting: MeanStudySetting) -> Iterator[_Point]:
    """Yield what is varied; a quick study takes every fourth value, ends included."""
    step = 4 if setting.is_quick else 1
    if setting.kind == BY_USERS:
        for n in USERS[::step]:
            yield _Point(str(n), n, setting.optin_fraction)
    else:
        n_users = DATA[setting.item_kind].n_users or 0  # which the setting does not allow
        for trusted in TRUSTED_OF_SO_MANY[::step]:
            yield _Point(str(trusted), n_users, trusted / OF_SO_MANY)


def _measure(setting: MeanStudySetting, point: _Point) -> Row:
    truth = mean_setting(
        DATA[setting.item_kind], point.n_users, point.trusted_fraction, setting.epsilon
    )
    error = _error(setting, point, truth)
    row: Row = {
        "part": point.part,
        "improvement_best": float(truth.improvement_over_best(error)),
        "improvement_worst": float(truth.improvement_over_worst(error)),
        "gain_over_privacy": float(truth.error_hybrid(truth.weight_privacy) / error),
    }
    return row | _compare_with_control(setting, point, float(truth.improvement_over_best(error)))


def _compare_with_control(setting: MeanStudySetting, point: _Point, improvement: float) -> Row:
    """Return how R differs from that of groups that are alike, where the groups are not."""
    control = CONTROLS.get(setting.item_kind)
    if control is None:
        return {}
    truth = mean_setting(DATA[control], point.n_users, point.trusted_fraction, setting.epsilon)
    error = _error(replace(setting, item_kind=control), point, truth)
    expected = float(truth.improvement_over_best(error))
    return {"skew_change": improvement - expected, "skew_ratio": improvement / expected}


def mean_setting(
    data: MeanData, n_users: float, trusted_fraction: float, epsilon: float
) -> MeanSetting:
    """Return the setting of these data with MEAN20's Laplace noise."""
    trusted_noise, local_noise = laplace_noise(trusted_fraction * n_users, data.upper, epsilon)
    return MeanSetting(
        n_users,
        trusted_fraction,
        trusted_noise,
        local_noise,
        data.trusted_variance,
        data.local_variance,
        data.mean_difference,
    )


def _error(setting: MeanStudySetting, point: _Point, truth: MeanSetting) -> float:
    """Return the expected squared error of the method."""
    if setting.method == KNOWN:
        # Section 6: the curator knows the variances, and believes that the means are equal.
        believed = replace(truth, mean_difference=0.0)
        return float(truth.error_hybrid(believed.weight_known_variance))
    if setting.method == PRIVACY:
        return float(truth.error_hybrid(truth.weight_privacy))
    data = DATA[setting.item_kind]
    return data.upper**2 * error_of_estimated_weight(
        point.n_users,
        point.trusted_fraction,
        setting.epsilon,
        data.trusted_variance / data.upper**2,
        VARIANCE_SHARE if setting.method == PAID else 0.0,
    )
