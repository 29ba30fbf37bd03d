"""How often each cell is reported, drawn at once from how many clients hold each cell.

For studies that need no single client: millions of reports cost as much as the cells do.
"""

import numpy as np

from hybriddp.arrays import FloatArray, IntArray
from hybriddp.randomizers.laws import ClientResponse, OneStageResponse
from hybriddp.randomizers.response import RandomizedResponse
from hybriddp.randomizers.stages import TwoStageResponse

# Up to so many values every holder's lies are drawn apart; beyond, those of all but the last
# value together, as if a lie could hit the truth, which then is one value of very many.
_EXACT_VALUES = 600


def draw_report_counts(
    response: ClientResponse, holders: IntArray, *, rng: np.random.Generator
) -> IntArray:
    """Draw the number of reports of each cell, given how many clients hold each.

    Exact for two-stage reports and sets of one cell, normal with the exact covariance (up to a
    part of one over the number of cells) for larger sets.

    Privacy claim: none; for studies and tests, whose data is synthetic.
    """
    if isinstance(response, TwoStageResponse):
        return _two_stage(response, holders, rng)
    return _subsets(response, holders, rng)


def _two_stage(response: TwoStageResponse, holders: IntArray, rng: np.random.Generator) -> IntArray:
    sizes = np.array([url.n_values for url in response.urls])
    starts = np.cumsum(sizes) - sizes
    kept = rng.binomial(holders, float(response.query.p_truth))
    lies = np.add.reduceat(holders - kept, starts)
    elsewhere = _reported_lies(lies[None, :], rng)[0]
    reports = np.zeros(len(holders), dtype=np.int64)
    for size in np.unique(sizes).tolist():
        queries = np.flatnonzero(sizes == size)
        cells = starts[queries][:, None] + np.arange(size)
        url = response.urls[queries[0]]
        reports[cells] = _url_stage(url, kept[cells], rng)
        reports[cells] += rng.multinomial(elsewhere[queries], np.full(size, 1 / size))
    return reports


def _url_stage(url: RandomizedResponse, kept: IntArray, rng: np.random.Generator) -> IntArray:
    """Report urls of queries with equally many, shape (queries, urls)."""
    truths = rng.binomial(kept, float(url.p_truth))
    reports: IntArray = truths + _reported_lies(kept - truths, rng)
    return reports


def _reported_lies(lies: IntArray, rng: np.random.Generator) -> IntArray:
    """Send every lie of a value to a uniform other value of its row; shape (rows, values)."""
    n_rows, k = lies.shape
    if k == 1:
        return lies  # nothing else to report; there are no lies
    if k > _EXACT_VALUES:
        pooled = rng.multinomial(lies[:, :-1].sum(axis=1), np.full(k, 1 / k))
        pooled[:, :-1] += rng.multinomial(lies[:, -1], np.full(k - 1, 1 / (k - 1)))
        return pooled
    to_others = rng.multinomial(lies, np.full(k - 1, 1 / (k - 1)))
    full = np.zeros((n_rows, k, k), dtype=np.int64)
    full[:, ~np.eye(k, dtype=np.bool_)] = to_others.reshape(n_rows, -1)
    reported: IntArray = full.sum(axis=1)
    return reported


def _subsets(response: OneStageResponse, holders: IntArray, rng: np.random.Generator) -> IntArray:
    """Report sets: the truth or not, and uniform others.

    A uniform set of s of the N others holds each with variance V = (s/N)(1 - s/N), and any two
    with covariance -V/(N-1); the sums over clients are normal.
    """
    if response.n_values == 1:
        return holders
    kept = rng.binomial(holders, float(response.p_truth))
    lost = holders - kept
    if response.size == 1:
        reports: IntArray = kept + _reported_lies(lost[None, :], rng)[0]
        return reports
    n_others, w = response.n_values - 1, response.size
    with_truth, without = (w - 1) / n_others, w / n_others
    expected = kept * with_truth + lost * without  # of each value's holders, on any other value
    spread = kept * with_truth * (1 - with_truth) + lost * without * (1 - without)
    noise = np.zeros(len(holders))
    noise[:-1] = _centred(np.full(n_others, spread[-1]), rng)  # the last value has most holders
    noise += _centred(spread[:-1].sum() - np.append(spread[:-1], 0), rng)
    drawn = kept + expected.sum() - expected + noise
    rounded: IntArray = np.maximum(drawn.round(), 0).astype(np.int64)
    return rounded


def _centred(variances: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Draw normals of about these variances that sum to 0."""
    k = len(variances)
    drawn = rng.standard_normal(k) * np.sqrt(np.maximum(variances, 0) * k / (k - 1))
    centred: FloatArray = drawn - drawn.mean()
    return centred
