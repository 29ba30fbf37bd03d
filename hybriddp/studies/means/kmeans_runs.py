"""Figure 6 of MEAN20 by simulation: blocks of trials of hybrid k-means and of its baselines.

All settings of a seed see the same trials, that is the same first centres and the same trusted
users, so that the differences between them are not those of good and bad starts.
"""

from dataclasses import asdict, dataclass
from statistics import fmean

from hybriddp.arrays import FloatArray
from hybriddp.errors import require, require_count, require_one_of
from hybriddp.exact import exact
from hybriddp.kmeans.setting import PRINTED, REPLACE_ONE, KMeansSetting
from hybriddp.planning.populations import study_rng
from hybriddp.studies.blender.settings import derived_seed
from hybriddp.studies.means.kmeans_figure import (
    EPSILON,
    HYBRID,
    LOCAL,
    N_CLUSTERS,
    N_TRIALS,
    TRUSTED,
    TRUSTED_FRACTIONS,
    Case,
    Trial,
    draw_trial,
    four_gaussians,
    run_case,
)
from hybriddp.studies.zealous.parameters import PART, Row

FOUR_CLOUDS = "four-clouds"  # stands where others have a population
# The same with the lies of randomized responses undone; the paper's estimator leaves them in.
HYBRID_DEBIASED, LOCAL_DEBIASED = "hybrid-debiased", "local-debiased"
_METHODS = {  # algorithm, whether lies are undone
    LOCAL: (LOCAL, False),
    LOCAL_DEBIASED: (LOCAL, True),
    TRUSTED: (TRUSTED, False),
    HYBRID: (HYBRID, False),
    HYBRID_DEBIASED: (HYBRID, True),
}
METHODS = tuple(_METHODS)
LOCAL_METHODS = (LOCAL, LOCAL_DEBIASED)
NO_CURATOR = "no-curator"  # whose noise, where everybody is local

TRIALS_PER_SEED = 14
N_SEEDS = N_TRIALS // TRIALS_PER_SEED  # 26 for the paper's 364 trials
_POINTS_PER_CLUSTER = 40_000  # MEAN20 section 7
_QUICK_TRIALS, _QUICK_POINTS = 2, 2_500


@dataclass(frozen=True, slots=True, kw_only=True)
class KMeansStudySetting:
    """One point of one curve; nobody is trusted in a local one, and no curator adds noise."""

    kind: str = "k-means"
    noise: str = PRINTED
    epsilon: float = float(EPSILON)
    optin_fraction: float = TRUSTED_FRACTIONS[0]  # c
    n_iterations: int = 5  # tau
    method: str = HYBRID  # after them: tables show all methods of a cell one below the other
    population: str = FOUR_CLOUDS
    is_quick: bool = False

    def __post_init__(self) -> None:
        for name in ("epsilon", "optin_fraction"):
            object.__setattr__(self, name, float(getattr(self, name)))
        for name, known in (
            ("method", METHODS),
            ("noise", (PRINTED, REPLACE_ONE, NO_CURATOR)),
            ("population", (FOUR_CLOUDS,)),
        ):
            require_one_of(getattr(self, name), name, known)
        require_count(self.n_iterations, "n_iterations")
        # Else the same local curve would be simulated once for each noise and c.
        is_local = (
            self.method in LOCAL_METHODS, self.noise == NO_CURATOR, self.optin_fraction == 0
        )  # fmt: skip
        require(
            len(set(is_local)) == 1,
            f"local methods have noise {NO_CURATOR} and optin_fraction 0, and no others have",
            f"{self.method}, {self.noise}, {self.optin_fraction:g}",
            "change all three together",
        )

    @property
    def case(self) -> Case:
        """What every trial runs."""
        algorithm, debias = _METHODS[self.method]
        is_local = algorithm == LOCAL
        setting = KMeansSetting(
            N_CLUSTERS,
            self.n_iterations,
            exact(self.epsilon, "epsilon"),
            noise=PRINTED if is_local else self.noise,
            debias=debias,
        )
        # A local case reads neither of the two.
        return Case(algorithm, TRUSTED_FRACTIONS[0] if is_local else self.optin_fraction, setting)


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """The points, which are the same for all seeds as in the paper, and the trials of one seed."""

    points: FloatArray
    trials: tuple[Trial, ...]


def draw_block(population: str, seed: int, *, is_quick: bool) -> Block:
    """Draw the trials of a seed; all its settings share them."""
    n_trials = _QUICK_TRIALS if is_quick else TRIALS_PER_SEED
    n_per_cluster = _QUICK_POINTS if is_quick else _POINTS_PER_CLUSTER
    points_rng = study_rng(derived_seed("points", population, is_quick))
    points = four_gaussians(n_per_cluster=n_per_cluster, rng=points_rng)
    rng = study_rng(derived_seed("trials", population, is_quick, seed))
    setting = KMeansSetting(N_CLUSTERS, 1, EPSILON)  # of which first centres need two sizes only
    return Block(points, tuple(draw_trial(points, setting, rng=rng) for _ in range(n_trials)))


def run_block(study: str, setting: KMeansStudySetting, seed: int, block: Block) -> list[Row]:
    """Run every trial of a block with noise of its own, and return the mean over them."""
    rng = study_rng(derived_seed(study, asdict(setting), seed))
    squares = [run_case(block.points, setting.case, trial, rng=rng) for trial in block.trials]
    return [{"part": PART, "within_squares": fmean(squares)}]
