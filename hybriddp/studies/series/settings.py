"""What one run of a year is."""

from dataclasses import dataclass

from hybriddp.errors import require_one_of
from hybriddp.params import GAUSSIAN, HIGH_UTILITY, LAPLACE, BlenderParams, usual_finding
from hybriddp.planning.profiles import POPULATIONS
from hybriddp.studies.series.laws import CHANGES, STEADY

# A fiftieth of the people each week, with counts or with weights; everybody in the first week and
# then nobody; everybody every week, with one budget; the same in the year after such a year.
FORGETFUL, FORGETFUL_WEIGHTS, ONCE, SERIES = "forgetful", "forgetful weights", "once", "series"
SECOND = "second season"
METHODS = (FORGETFUL, FORGETFUL_WEIGHTS, ONCE, SERIES, SECOND)
QUICK_WEEKS, QUICK_USERS = 8, 60_000


@dataclass(frozen=True, slots=True, kw_only=True)
class SeriesSetting:
    """Everything that decides a run, but the seed."""

    population: str = "aol-like"
    change: str = STEADY
    n_users: int = 520_000
    records_per_user: float = 2.0  # the mean of a week; everybody has one at least
    epsilon: float = 4.0  # a year
    delta: float = 1e-5
    optin_fraction: float = 0.05
    max_head_size: int = 100
    method: str = SERIES
    kind: str = "series"
    is_quick: bool = False

    def __post_init__(self) -> None:
        for name in ("records_per_user", "epsilon", "delta", "optin_fraction"):
            object.__setattr__(self, name, float(getattr(self, name)))
        object.__setattr__(self, "n_users", int(self.n_users))
        for name, known in (("method", METHODS), ("change", CHANGES)):
            require_one_of(getattr(self, name), name, known)
        require_one_of(self.population, "population", tuple(POPULATIONS))

    @property
    def n_weeks(self) -> int:
        """How many weeks a year has; quick ones are short."""
        return QUICK_WEEKS if self.is_quick else 52

    @property
    def n_people(self) -> int:
        """How many people there are; in quick ones few, of whom more opted in."""
        return min(self.n_users, QUICK_USERS) if self.is_quick else self.n_users

    @property
    def optin(self) -> float:
        """The share of those who opted in."""
        return 0.2 if self.is_quick else self.optin_fraction

    @property
    def params(self) -> BlenderParams:
        """The parameters of a single release by the people of a week."""
        if self.method == FORGETFUL:
            finding, records = LAPLACE, 1
        else:
            # Weights are what is asked for, even where they are not usual.
            finding = GAUSSIAN
            _, records = usual_finding(HIGH_UTILITY, max(self.records_per_user, 2))
        return BlenderParams(
            self.epsilon,
            self.delta,
            strategy=HIGH_UTILITY,
            finding=finding,
            max_head_size=self.max_head_size,
            max_records_optin=records,
        )
