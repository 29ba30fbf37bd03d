"""How much more weight than share each record has, learnt from all the others.

log ratio = common + walk(log weight) + own. The walk lets ratios follow popularity: people repeat
popular searches more often than rare ones, or less often. How far it goes in a unit of log weight,
and how far records differ by themselves, is learnt together, on a grid. Given both, all is normal:

    log(weight/m) - (share - m)/m = log ratio + noise,    m near the record's sum of shares.

What is said of a record's ratio comes from all records but itself: its own weight and share are
blended later, by that ratio, and would else count twice.
"""

from dataclasses import dataclass

import numpy as np

from hybriddp.arrays import FloatArray
from hybriddp.blender.weighted.records import Given, Ratio, blended

# Of a list nobody has seen: people with one to nine records a week, or who repeat some of them.
_USUAL_LOG, _SD_LOG = 0.5, 1.0
# How far records may differ by themselves, and how far the walk goes: half of all lists are
# expected below the usual one (half Cauchy laws).
_USUAL_OWN, _USUAL_WALK = 0.05, 0.05
_OWN = np.append(0.0, np.geomspace(0.01, 2.0, 20))
_WALK = np.append(1e-3, np.geomspace(0.03, 1.5, 10))
_KNOTS = 12
# Where ratios follow popularity they do so in no straight line: records differ by themselves as
# far as this part of a unit's walk at least, seen or not.
_ROUGH = 0.4
# Weights of fewer standard errors than that teach nothing: where a record is cannot be said.
_CLEAR = 4.0
_NOTHING = 1e12  # their noise
# Rounds of learning, each with shares that are blended by what the one before has learnt.
_ROUNDS = 3


@dataclass(frozen=True, slots=True)
class _Lessons:
    """What each record says of its own log ratio, and the steps of the walk that lead to it."""

    values: FloatArray
    noise: FloatArray  # its variance
    steps: FloatArray  # (records, 1 + knots): 1, and how far the walk went through each step
    length: float  # of a step, in log weight


def ratio_of(given: Given) -> Ratio:
    """Learn each record's ratio from all others.

    Privacy claim: none; post-processing of a WeightedListDraw or of SeasonWeeks.
    """
    n_records = len(given.weights)
    if n_records == 0:
        return Ratio(np.ones(0), np.ones(0), float(np.exp(_USUAL_LOG)))
    sd = np.sqrt(np.broadcast_to(given.of_weights, n_records))
    # Of a law like Zipf's, 1/w^2, lucky noise is more frequent than unlucky noise.
    unlucky = np.maximum(given.weights**2 - 8 * sd**2, 0)
    weights = np.maximum((given.weights + np.sqrt(unlucky)) / 2, sd)
    is_clear = given.weights > _CLEAR * sd
    steps, length = _steps(np.log(weights))
    ratio = Ratio(np.full(n_records, _first_guess(given)), np.full(n_records, 0.5), 1.0)
    for _ in range(_ROUNDS):
        near = np.maximum(blended(given, ratio)[1], weights / ratio.values / 10)
        lessons = _Lessons(
            np.log(weights / near) - (given.shares - near) / near,
            np.where(is_clear, given.of_shares / near**2 + (sd / weights) ** 2, _NOTHING),
            steps,
            length,
        )
        ratio = _learnt(lessons, int(np.argmin(weights)))
    return ratio


def _first_guess(given: Given) -> float:
    shape = given.weights.shape
    of_shares = np.broadcast_to(given.of_shares, shape)
    exact = of_shares.min() / of_shares  # all 1 in a single release
    error = float(np.sqrt((exact**2 * of_shares).sum()))
    guess = (exact * given.weights).sum() / max((exact * given.shares).sum(), error)
    return float(np.clip(guess, *np.exp([_USUAL_LOG - 3 * _SD_LOG, _USUAL_LOG + 3 * _SD_LOG])))


def _steps(logs: FloatArray) -> tuple[FloatArray, float]:
    """Return how far a walk from the heaviest record went through each of its steps."""
    length = max(float(np.ptp(logs)), 1.0) / _KNOTS
    gone = (logs.max() - logs)[:, None] / length - np.arange(_KNOTS)
    return np.concatenate([np.ones((len(logs), 1)), np.clip(gone, 0, 1)], axis=1), length


def _learnt(lessons: _Lessons, lightest: int) -> Ratio:
    """Return the mean over all walks and deviations, by how likely they are."""
    log_weights, means, variances = (
        np.array(found)
        for found in zip(*(_given_walk(lessons, walk) for walk in _WALK), strict=True)
    )
    log_weights += np.log(_half_cauchy(_WALK, _USUAL_WALK))[:, None]
    log_weights += np.log(_half_cauchy(_OWN, _USUAL_OWN))
    likely = np.exp(log_weights - log_weights.max())
    likely /= likely.sum()
    mean = np.einsum("wo,wor->r", likely, means)
    variance = np.einsum("wo,wor->r", likely, variances + (means - mean) ** 2)
    values = np.exp(mean)
    return Ratio(values, np.sqrt(variance), float(values[lightest]))


def _given_walk(lessons: _Lessons, walk: float) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return for each of _OWN how likely it is, and every record's log ratio by all others.

    Mean and variance, (own, records); a regression on the walk's steps.
    """
    prior = np.append(1 / _SD_LOG**2, np.full(_KNOTS, 1 / (walk**2 * lessons.length)))
    start = np.append(_USUAL_LOG, np.zeros(_KNOTS))
    own = (_OWN**2 + (_ROUGH * walk) ** 2)[:, None]
    noise = lessons.noise + own
    exact = 1 / noise
    steps, errors = lessons.steps, lessons.values - lessons.steps @ start
    precisions = (steps.T * exact[:, None, :]) @ steps + np.diag(prior)
    inverse = np.linalg.inv(precisions)
    found = np.einsum("oij,oj->oi", inverse, (exact * errors) @ steps)
    left = errors - found @ steps.T
    of_mean = ((steps @ inverse) * steps).sum(axis=2)
    others = 1 - of_mean * exact  # how much of what is said of a record others say
    log_likelihood = 0.5 * (
        np.log(prior).sum()
        - np.linalg.slogdet(precisions)[1]
        + (np.log(exact) - exact * left**2).sum(axis=1)
        - (prior * found**2).sum(axis=1)
    )
    mean = lessons.values - left / others
    return log_likelihood, mean, of_mean / others + own


def _half_cauchy(points: FloatArray, usual: float) -> FloatArray:
    """Return how likely each point of a grid is, if half of all are below the usual one."""
    density: FloatArray = np.gradient(points) / (1 + (points / usual) ** 2)
    return density
