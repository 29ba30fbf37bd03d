"""How often one person's item gets through a whole release: as often as was charged, no more.

Deltas of 1e-6 cannot be sampled; at delta 0.05 a log of thousands of people, each with items that
nobody else has, shows the chance that the ledger's event charges.
"""

from fractions import Fraction

import numpy as np
import pytest

from hybriddp.accounting.event import from_json
from hybriddp.params import Budget
from hybriddp.zealous.events import INDISTINGUISHABLE
from hybriddp.zealous.mechanism import ZealousMechanism
from tasks.budget.policy import Policy, set_policy
from tasks.ledger.charges import DELTA_UNITS, EPSILON_UNITS, Charge
from tasks.ledger.ledger import Ledger
from tasks.ledger.rules import Kind
from tasks.measured.stored import load_measurement
from tasks.products.histograms.draws import draw_histogram
from tests.stats import ALPHA, law_p_value
from tests.zealous.support import request_for, reserve_log, write_log

pytestmark = pytest.mark.statistical

N_PEOPLE, N_ITEMS = 6_000, 3
DELTA = Fraction(1, 20)


@pytest.fixture(scope="module")
def unique_log(fast_folder):
    """Everybody has three queries of their own."""
    rows = [
        (f"n{person}", f"n{person} own{number}", f"2026-11-10 10:0{number}:00", "")
        for person in range(N_PEOPLE)
        for number in range(N_ITEMS)
    ]
    return write_log(fast_folder / "unique.tsv", rows)


def draw_queries(log, home, **settings):
    """Draw the queries of a log; return the run and whose queries came through."""
    cap = Charge(50 * EPSILON_UNITS, DELTA_UNITS // 2)  # the default cap forbids such a delta
    set_policy(Ledger(home.ledger), Policy(cap))
    asked = request_for(log, histograms=("queries",), delta=float(DELTA), **settings)
    run = reserve_log(asked, home)
    draw_histogram(run, "queries")
    texts = load_measurement(run, "queries")["query"].to_pylist()
    return run, [text.split()[0] for text in texts]


def p_value(n_found, n, probability):
    return law_p_value(np.array([n_found, n - n_found]), np.array([probability, 1 - probability]))


# Noise of scale 1 for both m, where thresholds next to each other leak e times as much.
@pytest.mark.parametrize("m", [1, 2])
def test_a_single_users_item_gets_through_as_often_as_was_charged(unique_log, home, m):
    """False alarms: below 2 ALPHA. Power: a threshold that is one off is seen, see below."""
    settings = {"relaxation": INDISTINGUISHABLE, "epsilon": 2 * m, "items_per_user": m}
    run, owners = draw_queries(unique_log, home, **settings)
    event = from_json(run.state.find(Kind.DRAW_STARTED, "queries").payload.event)
    assert event.leak <= DELTA < event.leak * np.e, "the threshold is the smallest that keeps it"
    assert p_value(len(owners), N_PEOPLE * m, event.leak / m) > ALPHA
    visible = 1 - (1 - event.leak / m) ** m  # people of whom at least one item came through
    assert p_value(len(set(owners)), N_PEOPLE, visible) > ALPHA


@pytest.mark.parametrize("m", [1, 2])
@pytest.mark.parametrize("off_by", [-1, 1])
def test_a_threshold_that_is_one_off_would_be_seen(m, off_by):
    """But with probability below 1e-3: 3.1 standard deviations nearer, it is rejected, too."""
    mechanism = ZealousMechanism.for_budget(Budget(2 * m, DELTA), INDISTINGUISHABLE, m, N_PEOPLE)
    leaks = {d: float(mechanism.noise.tail(mechanism.threshold + d)) for d in (-1, 0, 1)}
    expected = N_PEOPLE * m * leaks[off_by]
    nearer = expected + off_by * 3.1 * np.sqrt(expected)
    assert p_value(round(nearer), N_PEOPLE * m, leaks[0]) <= ALPHA


def test_every_count_of_a_draw_gets_noise_of_its_own():
    """First, last and in between: P(Y = 0) for each, and that of equal noise for each two.

    False alarms: below ALPHA each. Power: a count without noise, or two that share theirs, would
    have to be seen with probability 1 where it is below 1/2, in 300 draws.
    """
    mechanism = ZealousMechanism.for_budget(Budget(1, DELTA), INDISTINGUISHABLE, 1, N_PEOPLE)
    counts = np.array([1_000, 2_000, 3_000])
    noise = np.array([mechanism.draw(counts).noisy_counts - counts for _ in range(300)])
    law = mechanism.noise.pmf(np.arange(-200, 201))
    for position in range(3):
        is_none = noise[:, position] == 0
        is_shared = noise[:, position] == noise[:, position - 1]
        assert p_value(int(is_none.sum()), 300, float(law.max())) > ALPHA
        assert p_value(int(is_shared.sum()), 300, float((law**2).sum())) > ALPHA
