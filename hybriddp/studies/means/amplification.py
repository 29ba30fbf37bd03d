"""Figure 7 of MEAN20 in closed form: what those lose whom an adversary sees by one number only.

Five answers for the same noise: as theorem 8.1 is printed, which is wrong, as corrected, by the
exact cost of continuous Gaussian noise, proved for integers, and without any amplification.
"""

import math
from dataclasses import dataclass

from hybriddp.errors import require_one_of
from hybriddp.mean.amplification import Amplified, amplified, certified_together, votes_near
from hybriddp.noise.gaussian import DiscreteGaussian, classic_factor, classic_sd, gaussian_epsilon
from hybriddp.params import Budget
from hybriddp.randomizers.numbers.errors import MeanSetting
from hybriddp.studies.means.data import DATA, TABLES, UC_SALARIES
from hybriddp.studies.zealous.parameters import CLOSED_FORM, Row

PRINTED, CLASSIC, EXACT = "printed", "corrected-classic", "corrected-exact"
CERTIFIED, ALONE = "proved-for-integers", "no-amplification"
METHODS = (PRINTED, CLASSIC, EXACT, CERTIFIED, ALONE)
# Clients, in percent, who share their noise with the adversary; the paper's share has no numbers.
ADVERSARIES = (0, 50, 90)
# What integers stand for values in the proof; noise is 5.7 times as large.
_LARGEST = 1 << 10


def adversary_part(percent: int) -> str:
    """Return the name of the part with this share of adversaries."""
    return f"{percent} % adversaries"


@dataclass(frozen=True, slots=True, kw_only=True)
class AmplificationSetting:
    """One point of figure 7, by one of the answers. `item_kind` is the name of the data."""

    kind: str = "amplification"
    method: str = EXACT
    item_kind: str = UC_SALARIES
    epsilon: float = 1.0
    delta: float = 1e-7
    optin_fraction: float = 0.01
    population: str = CLOSED_FORM
    is_quick: bool = False

    def __post_init__(self) -> None:
        for name in ("epsilon", "delta", "optin_fraction"):
            object.__setattr__(self, name, float(getattr(self, name)))
        require_one_of(self.method, "method", METHODS)
        require_one_of(self.item_kind, "item_kind", TABLES)


def run_amplification(
    study: str, setting: AmplificationSetting, seed: int, people: None
) -> list[Row]:
    """Compute one point for each share of adversaries; the rest of the arguments plays no part."""
    return [
        {
            "part": adversary_part(percent),
            "amplified_epsilon": amplified_epsilon(setting, percent / 100),
        }
        for percent in ADVERSARIES
    ]


def amplified_epsilon(setting: AmplificationSetting, adversaries: float) -> float:
    """Return epsilon' at the setting's delta if this share of the clients are adversaries."""
    budget = Budget(setting.epsilon, setting.delta)
    factor = classic_factor(setting.delta)
    if setting.method == ALONE:
        return min(gaussian_epsilon(setting.delta, setting.epsilon / factor), setting.epsilon)
    data = DATA[setting.item_kind]
    n_users = data.n_users or 0
    n_trusted = round(setting.optin_fraction * n_users)
    n_local = n_users - n_trusted
    sd_local = classic_sd(budget, data.upper)  # MEAN20 section 2.1
    # The curator's mean of values in [0, m] moves by m/|T|, and so its noise is that much smaller.
    noise = ((sd_local / n_trusted) ** 2, sd_local**2)
    blend = MeanSetting.alike(n_users, n_trusted / n_users, *noise, data.trusted_variance)
    weight, n_adversaries = float(blend.weight_known_variance), round(adversaries * n_local)
    if setting.method == CERTIFIED:
        return _proved_epsilon(budget, weight, n_trusted, n_local, n_adversaries)
    ideal = amplified(
        budget, weight=weight, max_value=data.upper, sd_trusted=sd_local / n_trusted,
        sd_local=sd_local, n_trusted=n_trusted, n_local=n_local, n_adversaries=n_adversaries,
    )  # fmt: skip
    if setting.method == PRINTED:
        return _printed_epsilon(ideal, factor)
    return ideal.classic.worst if setting.method == CLASSIC else ideal.exact.worst


def _printed_epsilon(ideal: Amplified, factor: float) -> float:
    """Return theorem 8.1 as printed: by the *smaller* sensitivity, which is no guarantee."""
    return factor * min(ideal.sensitivity_trusted, ideal.sensitivity_local) / ideal.noise_sd


def _proved_epsilon(
    budget: Budget, weight: float, n_trusted: int, n_local: int, n_adversaries: int
) -> float:
    """Return what is proved for integers on a common grid, with as much noise as the others."""
    noise = DiscreteGaussian(float(math.ceil(classic_sd(budget, _LARGEST))))
    votes = votes_near(weight, n_trusted=n_trusted, n_local=n_local)
    proved = certified_together(
        budget, noise, noise, votes=votes, largest=_LARGEST, n_local=n_local,
        n_adversaries=n_adversaries,
    )  # fmt: skip
    return float(proved.epsilon)
