"""What k-means costs whoever is replaced: all small cases of both groups, in exact numbers.

Noise and responses are scripted, so that a whole transcript is an input; what the mechanism would
have had to draw for it, under either point, is its likelihood. Discrete Laplace noise of scale b
makes a table at distance r from the true one e^(-r/b) as likely as the true one.
"""

import itertools
from dataclasses import replace
from decimal import Context
from fractions import Fraction as F

import numpy as np
import pytest

from hybriddp.errors import InvalidParameter
from hybriddp.kmeans import groups as kmeans_groups
from hybriddp.kmeans import mechanism as kmeans_release
from hybriddp.kmeans.events import ClusterReport
from hybriddp.kmeans.groups import respond
from hybriddp.kmeans.mechanism import KMeansMechanism
from hybriddp.kmeans.start import first_centres
from hybriddp.params import Budget
from hybriddp.randomizers import response
from hybriddp.randomizers.response import N_WORDS, RandomizedResponse

pytestmark = pytest.mark.exact

GRID, N_ITERATIONS = 2, 2
MECHANISM = KMeansMechanism.for_budget(
    Budget(1), n_clusters=2, n_iterations=N_ITERATIONS, n_dimensions=1, grid=GRID
)
STARTS = [np.array(start)[:, None] for start in ((0.0, 1.0), (0.5, 1.0), (1.0, 0.5))]
PLACES = range(GRID + 1)


class Script:
    """Stands for noise and responses: says what it is told, and remembers what was true."""

    def __init__(self, monkeypatch):
        self.noisy, self.named = [], []
        script = self

        class Noise:
            def __init__(self, scale):
                assert scale == int(scale)
                self.scale = int(scale)

            def add(self, table, _random_bytes):
                script.seen.append((self.scale, table.ravel().tolist()))
                said = script.noisy[len(script.seen) - 1]
                return np.array(said, dtype=np.int64).reshape(table.shape)

        def answer(labels, law, _random_bytes):
            script.asked.append((labels.tolist(), law))
            return np.array(script.named[len(script.asked) - 1])

        monkeypatch.setattr(kmeans_release, "ExactLaplace", Noise)
        monkeypatch.setattr(kmeans_groups, "respond", answer)

    def run(self, trusted, local, start):
        """Return what the mechanism publishes under this script."""
        self.seen, self.asked = [], []
        groups = [None if g is None else np.array(g)[:, None] for g in (trusted, local)]
        return MECHANISM.draw(*groups, start)


@pytest.fixture
def script(monkeypatch):
    return Script(monkeypatch)


def distance(a, b):
    return sum(abs(x - y) for x, y in zip(a, b, strict=True))


# ---- the curator's tables ----


def worst_trusted_distance(script, n_people, counts, sums):
    """Return by how much further from a transcript one of two neighbours' tables are, at most.

    All neighbours, and first tables from all of these numbers; given those, the second tables are
    at worst as far apart as the true ones.
    """
    worst = 0
    for start, *first in itertools.product(STARTS, counts, counts, sums, sums):
        script.noisy = [first[:2], first[2:], [GRID] * 2, [1] * 2]
        tables, published = {}, []
        for people in itertools.product(PLACES, repeat=n_people):
            found = script.run(people, None, start)
            published.append([*found.trusted.counts.ravel(), *found.trusted.sums.ravel()])
            published[-1] += found.trace.ravel().tolist()
            scales, seen = zip(*script.seen, strict=True)
            assert set(scales) == {MECHANISM.curator_scale}
            tables[people] = seen[0] + seen[1], seen[2] + seen[3]
        assert all(what == published[0] for what in published), "the noise is not all there is"
        for one, other in itertools.permutations(tables, 2):
            if sum(a != b for a, b in zip(one, other, strict=True)) == 1:
                here, there = tables[one], tables[other]
                now = distance(first, there[0]) - distance(first, here[0])
                worst = max(worst, now + distance(here[1], there[1]))
    return worst


# One step less in each iteration than the sensitivity 2G(d+1): two points are never one corner.
REACHED = N_ITERATIONS * (2 * GRID * 2 - 1)


@pytest.mark.parametrize(
    ("n_people", "counts", "sums"),
    [(1, (-1, 1, 2, 3), (-1, 1, 2, 3)), (2, (-1, 2, 5), (-1, 1, 5))],
)
def test_replaced_point_costs_at_most_epsilon(script, n_people, counts, sums):
    """With the printed scale, half of ours, it costs more: that is for added or removed points."""
    worst = worst_trusted_distance(script, n_people, counts, sums)
    assert worst == REACHED
    assert F(worst, MECHANISM.curator_scale) <= MECHANISM.budget.epsilon
    printed = MECHANISM.curator_scale // 2
    assert F(worst, printed) > MECHANISM.budget.epsilon
    with pytest.raises(InvalidParameter, match="raise the scale"):
        replace(MECHANISM, curator_scale=printed)


def test_groups_meet_in_published_centres_only(script):
    """Under one transcript, whoever is replaced in one group changes nothing for the other."""
    script.named = [[0, 1, 0], [1, 1, 0]]
    script.noisy = [[5, -1, 2], [4, 1], [3, 0], [2, 2], [0, 1]]
    for start in STARTS:
        of_clients, of_trusted = [], []
        for people in itertools.product(PLACES, repeat=2):
            script.run(people, [0, 1, 2], start)
            of_clients.append((script.seen[0], [labels for labels, _ in script.asked]))
            script.run([0, 2], [*people, 1], start)
            of_trusted.append(script.seen[1:])
        assert all(seen == of_clients[0] for seen in of_clients)
        assert all(seen == of_trusted[0] for seen in of_trusted)


def test_people_compare_themselves_with_centres_rounded_to_the_grid(script):
    """0.8 of two steps is rounded to 2, so who stands at 1 is as near to 0, which is first."""
    script.noisy = [[0, 0]] * 4
    script.run([1, 1, 2], None, np.array([[0.0], [0.8]]))
    assert script.seen[0][1] == [2 * GRID, GRID]
    script.run([1, 1, 2], None, np.array([[0.0], [0.7]]))
    assert script.seen[0][1] == [0, 3 * GRID]


def test_each_iteration_is_about_the_centres_that_the_one_before_led_to(script):
    """First tables that carry both centres to 0 and 0.5, where everybody is in another cluster."""
    script.noisy = [[0, 2], [8, 8], [0, 4], [0, 0], [0, 0]]
    script.named = [[0, 1], [0, 0]]
    found = script.run([1, 2], [1, 2], np.array([[0.5], [1.0]]))
    assert found.trace[1].ravel().tolist() == [0.0, 0.5]
    curator = [table for _, table in script.seen[1:]]
    assert curator == [[GRID, GRID], [1, 2], [0, 2 * GRID], [0, 3]]
    assert [labels for labels, _ in script.asked] == [[0, 1], [1, 1]]


def test_draw_is_the_simulation_on_the_operating_systems_bytes(monkeypatch):
    """And on nothing else: the same bytes give the same tables."""
    people = np.array([[0], [1], [2], [2]])
    expected = MECHANISM.simulate(people, people, STARTS[0], rng=np.random.default_rng(3))
    monkeypatch.setattr(kmeans_release.os, "urandom", np.random.default_rng(3).bytes)
    found = MECHANISM.draw(people, people, STARTS[0])
    for name in ("trusted", "local"):
        for kind in ("counts", "sums"):
            one, other = (getattr(getattr(run, name), kind) for run in (found, expected))
            assert (one == other).all()


# ---- a client's reports ----


def exceeds(ratio, exponent):
    """Whether a ratio of probabilities is above e^exponent, beyond eighty digits."""
    context = Context(prec=90)
    bound = context.exp(context.divide(exponent.numerator, exponent.denominator))
    return ratio > F(bound) * (1 + F(1, 10**80))


def client_transcripts(script):
    """Yield pairs of likelihoods of all that a client sends: a ratio, and a difference/scale.

    Every pair of points, every report up to two steps beyond them, all responses, all starts.
    """
    for start, report, *named in itertools.product(STARTS, range(-2, 5), (0, 1), (0, 1)):
        script.noisy, script.named = [[report]], [[answer] for answer in named]
        likelihoods, traces = {}, []
        for place in PLACES:
            traces.append(script.run(None, [place], start).trace.tolist())
            ((scale, truth),) = script.seen
            assert (scale, truth) == (MECHANISM.report_scale, [place])
            asked = zip(script.asked, named, strict=True)
            told = [law.pmf(label)[answer] for ((label,), law), answer in asked]
            likelihoods[place] = told[0] * told[1], F(-abs(report - place), scale)
        assert traces[0] == traces[1] == traces[2], "the reports are not all there is"
        for one, other in itertools.permutations(PLACES, 2):
            (p, r), (q, s) = likelihoods[one], likelihoods[other]
            yield p / q, r - s


def test_all_that_a_client_sends_costs_at_most_epsilon(script):
    epsilon = MECHANISM.budget.epsilon
    transcripts = list(client_transcripts(script))
    assert not any(exceeds(ratio, epsilon - noise) for ratio, noise in transcripts)
    # It is reached, but for a whole step of the scale and a word of 2^64.
    nearly = epsilon * F(9999, 10_000)
    assert any(exceeds(ratio, nearly - noise) for ratio, noise in transcripts)


@pytest.mark.parametrize("n_values", [2, 3, 5])
def test_each_word_says_what_it_says_on_a_device(n_values, monkeypatch):
    """The answer is constant between these words, so their shares are the law that is priced."""
    law = RandomizedResponse.for_budget(Budget("7/6"), n_values)
    ends = [k * law.lie_words for k in range(n_values)] + [N_WORDS]
    edges = [word for low, high in itertools.pairwise(ends) for word in (low, high - 1)]
    words = np.array(edges, dtype=np.uint64).tobytes()
    for label in range(n_values):
        vectorised = respond(np.full(len(edges), label), law, lambda n: words[:n]).tolist()
        shares = [F(0)] * n_values
        for word, answer in zip(edges, vectorised, strict=True):
            monkeypatch.setattr(response.secrets, "randbits", lambda _n, word=word: word)
            assert law.draw(label) == answer
        for (low, high), answer in zip(itertools.pairwise(ends), vectorised[::2], strict=True):
            shares[answer] += F(high - low, N_WORDS)
        assert shares == law.pmf(label)


def test_single_cluster_is_named_by_everybody_for_nothing():
    alone = KMeansMechanism.for_budget(Budget(1), n_clusters=1, n_iterations=2, n_dimensions=2)
    found = alone.draw(None, np.array([[3, 5], [7, 9]]), first_centres(1, 2))
    assert found.local.counts.tolist() == [[2 * alone.grid]] * 2
    ClusterReport(Budget("1/3"), alone.grid, 2, 2, alone.report_scale, alone.response)


# ---- budgets ----


@pytest.mark.parametrize("epsilon", ["1", "1/3", "7", "0.123456789", "22/7"])
@pytest.mark.parametrize("shape", [(2, 1, 1), (4, 5, 2), (9, 20, 7)])
def test_noise_is_the_least_in_whole_steps_that_keeps_the_budget(epsilon, shape):
    k, tau, d = shape
    mechanism = KMeansMechanism.for_budget(
        Budget(epsilon, "1e-6"), n_clusters=k, n_iterations=tau, n_dimensions=d
    )
    budget = Budget(epsilon)
    assert mechanism.budget == budget  # without the delta, which it does not need
    assert mechanism.grid == 65_536
    assert mechanism.curator_scale >= 2 * mechanism.grid * (d + 1) * tau / budget.epsilon
    assert mechanism.report_scale >= mechanism.grid * d * (tau + 1) / budget.epsilon
    for less in ("curator_scale", "report_scale"):
        with pytest.raises(InvalidParameter, match="cost at most"):
            replace(mechanism, **{less: getattr(mechanism, less) - 1})
    with pytest.raises(InvalidParameter, match="cost at most"):
        replace(mechanism, n_iterations=tau + 1)


def test_response_that_lies_a_word_too_rarely_is_refused():
    mechanism = KMeansMechanism.for_budget(Budget(3), n_clusters=4, n_iterations=2, n_dimensions=1)
    assert mechanism.report_scale == mechanism.grid  # a third of the budget, without rounding
    rarer = RandomizedResponse(4, mechanism.response.lie_words - 1)
    with pytest.raises(InvalidParameter, match="cost at most"):
        replace(mechanism, response=rarer)


# ---- what is refused ----


def test_points_that_the_noise_does_not_cover_are_refused_without_being_quoted():
    start = first_centres(4, 2)
    mechanism = KMeansMechanism.for_budget(Budget(1), n_clusters=4, n_iterations=1, n_dimensions=2)
    good = np.full((3, 2), 100)
    for bad in ([[5, 65_537]], [[-7, 5]], [[0.25, 0.5]], [5, 7], [[1, 2, 3]], [["secret", "x"]]):
        for groups in ((np.array(bad), good), (good, np.array(bad)), (None, np.array(bad))):
            with pytest.raises(InvalidParameter) as refusal:
                mechanism.draw(*groups, start)
            words = set(str(refusal.value).replace(",", " ").split())
            assert not {"65537", "-7", "0.25", "secret"} & words
    with pytest.raises(InvalidParameter, match="needs a group"):
        mechanism.draw(None, None, start)


def test_centres_outside_of_the_cube_or_of_another_shape_are_refused():
    mechanism = KMeansMechanism.for_budget(Budget(1), n_clusters=2, n_iterations=1, n_dimensions=1)
    people = np.zeros((3, 1), dtype=np.int64)
    for bad in ([[0.0], [1.5]], [[-0.1], [1.0]], [[np.nan], [1.0]], [[0.0]], [[0.0, 0.0]] * 2):
        with pytest.raises(InvalidParameter, match="take kmeans_start"):
            mechanism.draw(people, None, np.array(bad))
