"""Whose numbers the studies of hybrid means average: the data of MEAN20, and a table of wages.

Errors depend on data by their range, their variances and the difference of the groups' means only,
so this is all that is kept of them.
"""

from dataclasses import dataclass

# MEAN20 section 4, as printed.
UC_USERS, UC_UPPER, UC_SD = 252_540, 2_349_033, 53_254
# tests/data/cps_wages.parquet: wages of tax units, zeros included, whatever their weights.
WAGES_USERS, WAGES_UPPER, WAGES_SD = 280_005, 2_353_662, 68_757.50927728035


@dataclass(frozen=True, slots=True)
class MeanData:
    """Values in [0, upper] of trusted and of local users, of whom there are n, or any number."""

    upper: float
    trusted_variance: float
    local_variance: float
    mean_difference: float = 0.0  # local mean minus trusted mean
    n_users: int | None = None

    @classmethod
    def alike(cls, upper: float, variance: float, n_users: int | None = None) -> "MeanData":
        """Return data that do not differ between the groups."""
        return cls(upper, variance, variance, n_users=n_users)


def beta_variance(shape: float) -> float:
    """Return the variance of Beta(shape, shape)."""
    return 1 / (4 * (2 * shape + 1))


LOW, MEDIUM, HIGH = "beta-10-10", "beta-1-1", "beta-0.1-0.1"
BETAS = (LOW, MEDIUM, HIGH)
UC_SALARIES, WAGES = "uc-salaries", "cps-wages"
TABLES = (UC_SALARIES, WAGES)
# MEAN20 figure 4: one group has the low variance, the other one the high.
LOW_TRUSTED, HIGH_TRUSTED = "low-trusted-high-local", "high-trusted-low-local"
VARIANCE_SKEWED = (LOW_TRUSTED, HIGH_TRUSTED)
# MEAN20 figure 5: both groups' data move by this much, in opposite directions.
SHIFTS = {"shift-0": 0.0, "shift-0.25": 0.25, "shift-0.5": 0.5}
# Groups that are alike, with which those that are not are compared: all have the trusted users'
# variance, or nobody moves.
CONTROLS = {LOW_TRUSTED: LOW, HIGH_TRUSTED: HIGH, **dict.fromkeys(SHIFTS, "shift-0")}

_LOW, _MEDIUM, _HIGH = (beta_variance(shape) for shape in (10, 1, 0.1))
DATA = {
    LOW: MeanData.alike(1, _LOW),
    MEDIUM: MeanData.alike(1, _MEDIUM),
    HIGH: MeanData.alike(1, _HIGH),
    UC_SALARIES: MeanData.alike(UC_UPPER, UC_SD**2, UC_USERS),
    WAGES: MeanData.alike(WAGES_UPPER, WAGES_SD**2, WAGES_USERS),
    LOW_TRUSTED: MeanData(1, _LOW, _HIGH),
    HIGH_TRUSTED: MeanData(1, _HIGH, _LOW),
    # Section 6, footnote 2: m = 2 for every shift, so that the noise is the same.
    **{name: MeanData(2, _MEDIUM, _MEDIUM, 2 * shift) for name, shift in SHIFTS.items()},
}
