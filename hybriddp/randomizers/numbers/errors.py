"""How far the estimators of a mean are from the empirical mean of all users (MEAN20 sections 3-6).

Everything is made of sums, products and quotients, so numbers may be floats, arrays of them or
Fractions; the exact tests use Fractions. Errors are expected squares, against the mean that nobody
may see: that of all users' own values. Where the paper prints something else, see docs/errata.md.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from hybriddp.errors import require

# A float, an array of floats, or a Fraction.
Numbers = Any


@dataclass(frozen=True, slots=True, eq=False)
class MeanSetting:
    """How many users there are, how they differ, and how noisy each group's numbers are.

    Noise is stated as variances: of the curator's whole mean, and of one local report. Means
    matter by their difference only.
    """

    n_users: Numbers
    trusted_fraction: Numbers
    trusted_noise: Numbers
    local_noise: Numbers
    trusted_variance: Numbers
    local_variance: Numbers
    mean_difference: Numbers = 0  # local mean minus trusted mean

    @classmethod
    def alike(
        cls,
        n_users: Numbers,
        trusted_fraction: Numbers,
        trusted_noise: Numbers,
        local_noise: Numbers,
        variance: Numbers,
    ) -> "MeanSetting":
        """Return the homogeneous setting of MEAN20 sections 4 and 5."""
        return cls(n_users, trusted_fraction, trusted_noise, local_noise, variance, variance)

    @property
    def error_trusted_only(self) -> Numbers:
        """E_T: the curator's mean of the trusted users alone (lemma 3.2)."""
        n, c = self.n_users, self.trusted_fraction
        sampling = (1 - c) ** 2 / (c * n) * self.trusted_variance
        sampling = sampling + (1 - c) / n * self.local_variance
        return sampling + self.trusted_noise + ((1 - c) * self.mean_difference) ** 2

    @property
    def error_full_local(self) -> Numbers:
        """E_F: everybody reports locally, the trusted users too (lemma 3.4)."""
        return self.local_noise / self.n_users

    @property
    def error_local_only(self) -> Numbers:
        """E_L: the local users' reports alone (lemma 3.11)."""
        return self.error_hybrid(0 * self.trusted_fraction)

    def error_hybrid(self, weight: Numbers) -> Numbers:
        """E_H(w): the trusted users' mean with this weight, the reports with the rest (3.13)."""
        n, c, w = self.n_users, self.trusted_fraction, weight
        sampling = (w - c) ** 2 / n * (self.trusted_variance / c + self.local_variance / (1 - c))
        privacy = w**2 * self.trusted_noise + (1 - w) ** 2 * self.local_noise / ((1 - c) * n)
        # w mu_T + (1-w) mu_L - mu with mu = c mu_T + (1-c) mu_L.
        return sampling + privacy + ((c - w) * self.mean_difference) ** 2

    @property
    def weight_known_variance(self) -> Numbers:
        """KVH: the weight of least error (definitions 4.1 and 6.1)."""
        n, c = self.n_users, self.trusted_fraction
        # E_H(w) = a (w-c)^2 + b w^2 + d (1-w)^2 has its least value where its slope is 0.
        spread = (self.trusted_variance / c + self.local_variance / (1 - c)) / n
        spread = spread + self.mean_difference**2
        reports = self.local_noise / ((1 - c) * n)
        return (spread * c + reports) / (spread + self.trusted_noise + reports)

    @property
    def weight_privacy(self) -> Numbers:
        """PWH: the weight of least noise, whatever the data are (definition 5.3)."""
        reports = self.local_noise / ((1 - self.trusted_fraction) * self.n_users)
        return reports / (reports + self.trusted_noise)

    @property
    def weight_naive(self) -> Numbers:
        """Every user counts alike, however noisy their group is."""
        return self.trusted_fraction

    def improvement_over_best(self, error: Numbers) -> Numbers:
        """R: how many times smaller than the better baseline's an error is (definition 3.5)."""
        return np.minimum(self.error_trusted_only, self.error_full_local) / error

    def improvement_over_worst(self, error: Numbers) -> Numbers:
        """r: the same for the worse baseline (definition 5.1)."""
        return np.maximum(self.error_trusted_only, self.error_full_local) / error

    @property
    def critical_users(self) -> Numbers:
        """n_crit of lemma 3.6, its sign corrected: trusted users alone win up to so many users.

        The noise counts as fixed. They win at all only above `critical_fraction`.
        """
        c = self.trusted_fraction
        sampling = (1 - c) * ((1 - c) * self.trusted_variance + c * self.local_variance)
        lost = ((1 - c) * self.mean_difference) ** 2 + self.trusted_noise
        return (c * self.local_noise - sampling) / (c * lost)

    @property
    def critical_fraction(self) -> Numbers:
        """c_crit of lemma 3.6: up to it the trusted users alone never win."""
        var_t, var_l, noise = self.trusted_variance, self.local_variance, self.local_noise
        # The root in (0, 1) of (var_t - var_l) c^2 - (2 var_t - var_l + noise) c + var_t = 0, in
        # the form that also holds where the variances are equal.
        linear = 2 * var_t - var_l + noise
        return 2 * var_t / (linear + np.sqrt((var_l - noise) ** 2 + 4 * noise * var_t))


def laplace_noise(n_trusted: Numbers, upper: Numbers, epsilon: Numbers) -> tuple[Numbers, Numbers]:
    """Return the variances of Laplace noise on a mean of values in [0, upper], and on a report."""
    _require_positive(n_trusted, upper, epsilon)
    local = 2 * (upper / epsilon) ** 2
    return local / n_trusted**2, local


def critical_users_laplace(
    trusted_fraction: Numbers, upper: Numbers, epsilon: Numbers, variance: Numbers
) -> Numbers:
    """n_crit of lemma 3.8: with Laplace noise, trusted users alone win *from* so many users on.

    Infinite where the trusted fraction is too small for them ever to win.
    """
    c, y = trusted_fraction, 2 * upper**2
    margin = c * y - (1 - c) * epsilon**2 * variance
    with np.errstate(divide="ignore"):
        return np.where(margin > 0, y / (c * np.where(margin > 0, margin, 1)), np.inf)


def _require_positive(*values: Numbers) -> None:
    require(
        all(bool(np.all(np.asarray(value, dtype=object) > 0)) for value in values),
        "sizes, ranges and epsilons must be above 0",
        "another",
        "give positive numbers",
    )
