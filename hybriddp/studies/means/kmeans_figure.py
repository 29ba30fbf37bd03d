"""The experiment of MEAN20 figure 6: three ways to cluster 160,000 points in the unit square.

The paper prints neither the centres of its four Gaussians, nor how centres are initialised, nor
the range of tau. Ours are named here: the Gaussians stand on the corners of a square whose side is
a quarter, and first centres are random, whatever the points are: packed or plainly uniform.

Both choices decide who wins; bench/kmeans.py measures them, and the study mean-kmeans the figure.
- A lie in a randomized response pulls L's centre towards the middle of all points, by a share of
  its distance from there that no number of users reduces. The wider the square, the worse for LM.
  At a quarter (nine standard deviations between neighbours) each baseline wins one panel, as
  section 7 says; at a half TCM wins both.
- PWH weighs noise and is blind to that pull, so from a good start, where the trusted baseline is
  nearly perfect at c = 1 %, the hybrid is worse than it; `debias` removes the difference. From
  a uniform start most runs of the trusted baseline end with two centres in one cloud. There the
  pull, which brings all centres to the middle, helps the hybrid out, and it beats both.
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from hybriddp.arrays import FloatArray
from hybriddp.errors import require, require_one_of
from hybriddp.kmeans.points import within_cluster_squares
from hybriddp.kmeans.setting import NOISE_OF_MEAN, PRINTED, KMeansSetting
from hybriddp.studies.means.kmeans import hybrid_kmeans, local_kmeans, trusted_kmeans

HYBRID, TRUSTED, LOCAL = "hybrid", "trusted", "local"
ALGORITHMS = (HYBRID, TRUSTED, LOCAL)

# MEAN20 section 7 and figure 6; the iterations are ours, its axis cannot be read in our copy.
EPSILON, TRUSTED_FRACTIONS, N_TRIALS = Fraction(7), (0.001, 0.01), 364
ITERATIONS = (1, 2, 3, 5, 7, 10)
N_CLUSTERS = 4
_STANDARD_DEVIATION = 0.028
_N_TRIES, _N_BISECTIONS = 100, 12


@dataclass(frozen=True, slots=True)
class Case:
    """One point of one curve: an algorithm, how many users are trusted, and the setting."""

    algorithm: str
    trusted_fraction: float  # c; everybody is local in the local baseline, whatever c is
    setting: KMeansSetting

    def __post_init__(self) -> None:
        require_one_of(self.algorithm, "algorithm", ALGORITHMS)
        require(
            0 < self.trusted_fraction < 1,
            "trusted_fraction must lie between 0 and 1",
            self.trusted_fraction,
            "both groups need users",
        )


@dataclass(frozen=True, slots=True, eq=False)
class Trial:
    """What all cases of a trial share: first centres, and who is trusted before whom."""

    centres: FloatArray  # (K, d)
    users: FloatArray  # all points (n, d) in random order; the first ones are those of T

    def split(self, trusted_fraction: float) -> tuple[FloatArray, FloatArray]:
        """Return the points of T and of L; the users of a smaller T are among a larger one's."""
        n_trusted = round(trusted_fraction * len(self.users))
        return self.users[:n_trusted], self.users[n_trusted:]


@dataclass(frozen=True, slots=True)
class Row:
    """The mean within-cluster sum of squares of a case, and its standard error over trials."""

    case: Case
    n_trials: int
    mean_squares: float
    standard_error: float


def figure_six_cases(
    *,
    noises: Sequence[str] = (PRINTED,),
    iterations: Sequence[int] = ITERATIONS,
    weight: str = NOISE_OF_MEAN,
    debias: bool = False,
) -> list[Case]:
    """Return the points of figures 6b and 6c; the local curve, which is in both, only once."""
    cases = []
    for n_iterations, noise in itertools.product(iterations, noises):
        setting = KMeansSetting(
            N_CLUSTERS, n_iterations, EPSILON, noise=noise, weight=weight, debias=debias
        )
        cases += [
            Case(algorithm, c, setting)
            for algorithm, c in itertools.product((HYBRID, TRUSTED), TRUSTED_FRACTIONS)
        ]
        if noise == noises[0]:  # no curator, so no noise of its own
            cases.append(Case(LOCAL, TRUSTED_FRACTIONS[0], setting))
    return cases


def four_gaussians(
    *, n_per_cluster: int = 40_000, side: float = 0.25, rng: np.random.Generator
) -> FloatArray:
    """Draw the points (n, 2) of MEAN20 figure 6a: spherical, sigma 0.028, clipped to [0, 1].

    The centres are ours: corners of a square around the middle of the unit square, `side` apart.
    """
    require(0 <= side <= 1, "side must lie between 0 and 1", side, "take the default")
    corners = 0.5 + side * (np.indices((2, 2)).reshape(2, N_CLUSTERS).T - 0.5)
    noise = rng.normal(0.0, _STANDARD_DEVIATION, (2, N_CLUSTERS * n_per_cluster))
    points = noise.T + np.repeat(corners, n_per_cluster, axis=0)
    return np.asfortranarray(np.clip(points, 0.0, 1.0))


def packed_centres(
    setting: KMeansSetting, n_dimensions: int, *, rng: np.random.Generator
) -> FloatArray:
    """Return first centres (K, d) that are random but far from each other and from the walls.

    Sphere packing, after Su et al. (2016), MEAN20's reference 53: the largest radius, found by
    bisection, at which random spheres fit into the cube one after the other without meeting.
    It looks at no point and so costs no budget.
    """
    best, low, high = rng.random((setting.n_clusters, n_dimensions)), 0.0, 0.5
    for _ in range(_N_BISECTIONS):
        radius = (low + high) / 2
        placed = _pack(setting.n_clusters, n_dimensions, radius, rng)
        if placed is None:
            high = radius
        else:
            best, low = placed, radius
    return best * float(setting.upper)


def _pack(
    n_spheres: int, n_dimensions: int, radius: float, rng: np.random.Generator
) -> FloatArray | None:
    """Return the centres of spheres in the unit cube, or nothing if one found no place."""
    placed = np.empty((0, n_dimensions))
    for _ in range(n_spheres):
        tries = rng.uniform(radius, 1 - radius, (_N_TRIES, 1, n_dimensions))
        is_free = (np.linalg.norm(tries - placed, axis=2) >= 2 * radius).all(axis=1)
        if not is_free.any():
            return None
        placed = np.vstack([placed, tries[np.argmax(is_free)]])
    return placed


def uniform_centres(
    setting: KMeansSetting, n_dimensions: int, *, rng: np.random.Generator
) -> FloatArray:
    """Return first centres (K, d) that are uniform in the cube: the simplest start."""
    return rng.random((setting.n_clusters, n_dimensions)) * float(setting.upper)


PACKED, UNIFORM = "packed", "uniform"
_STARTS = {PACKED: packed_centres, UNIFORM: uniform_centres}


def run_trials(
    points: FloatArray,
    cases: Sequence[Case],
    n_trials: int,
    *,
    start: str = PACKED,
    rng: np.random.Generator,
) -> FloatArray:
    """Return the within-cluster sum of squares over all points, (n_trials, n_cases).

    In a trial all cases start from the same centres, and those with the same c trust the same
    users. Processes with generators of their own can share the trials: concatenate the results.

    Privacy claim: none; synthetic data.
    """
    require(
        len({(case.setting.n_clusters, case.setting.upper) for case in cases}) == 1,
        "cases must share n_clusters and upper",
        f"{len(cases)} cases that do not",
        "their trials start from the same centres",
    )
    setting, squares = cases[0].setting, []
    for _ in range(n_trials):
        trial = draw_trial(points, setting, start=start, rng=rng)
        squares.append([run_case(points, case, trial, rng=rng) for case in cases])
    return np.array(squares)


def draw_trial(
    points: FloatArray,
    setting: KMeansSetting,
    *,
    start: str = PACKED,
    rng: np.random.Generator,
) -> Trial:
    """Draw first centres for as many clusters as the setting has, and the order of the users.

    Privacy claim: none; synthetic data.
    """
    require_one_of(start, "start", tuple(_STARTS))
    centres = _STARTS[start](setting, points.shape[1], rng=rng)
    # Columns stay contiguous, which is what is fast.
    return Trial(centres, np.take(points.T, rng.permutation(len(points)), axis=1).T)


def run_case(points: FloatArray, case: Case, trial: Trial, *, rng: np.random.Generator) -> float:
    """Return the within-cluster sum of squares over all points, in one trial of a case.

    Privacy claim: none; synthetic data.
    """
    trusted, local = trial.split(case.trusted_fraction)
    if case.algorithm == HYBRID:
        found = hybrid_kmeans(trusted, local, trial.centres, case.setting, rng=rng)
    elif case.algorithm == TRUSTED:
        found = trusted_kmeans(trusted, trial.centres, case.setting, rng=rng)
    else:
        found = local_kmeans(points, trial.centres, case.setting, rng=rng)
    return within_cluster_squares(points, found.centres)


def summarise(cases: Sequence[Case], squares: FloatArray) -> list[Row]:
    """Average the trials (n_trials, n_cases) of `run_trials`, case by case.

    Privacy claim: none; synthetic data.
    """
    n_trials = len(squares)
    require(n_trials >= 2, "a standard error needs two trials", n_trials, "run more")
    errors = squares.std(axis=0, ddof=1) / np.sqrt(n_trials)
    return [
        Row(case, n_trials, float(mean), float(error))
        for case, mean, error in zip(cases, squares.mean(axis=0), errors, strict=True)
    ]
