"""An empirical audit of the draws: what can be inferred about one person, from many releases.

Two neighbouring logs are released many times each. From how often an event happens follows a lower
bound on epsilon that holds with confidence 1 - ALPHA (Clopper-Pearson, one-sided for each log). It
may never exceed what is claimed; and where the mechanism is tight, it must come to most of it, or
the audit would see nothing. Passing proves nothing: the proofs and tests/exact do.
"""

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from hybriddp.params import Budget
from hybriddp.zealous.events import INDISTINGUISHABLE, PROBABILISTIC
from hybriddp.zealous.mechanism import ZealousMechanism
from tasks.ledger.payloads import Terms
from tasks.products.histograms.estimation.tables import mechanism_for
from tests.stats import ALPHA
from tests.zealous.support import request_for

pytestmark = pytest.mark.statistical

N_RELEASES = 250_000
# Far above every threshold here: noise never hides it.
COUNT = 10_000
TIGHT = 0.8
DEFAULTS = {"epsilon": 1.0, "delta": 1e-6, "relaxation": INDISTINGUISHABLE}


def lower_bound(hits, others, n, delta):
    """Return the largest epsilon that both counts rule out, with confidence 1 - ALPHA.

    P <= e^epsilon Q + delta, where P is at least its lower limit and Q at most its upper one, each
    but with probability ALPHA/2.
    """
    least = stats.beta.ppf(ALPHA / 2, hits, n - hits + 1) if hits else 0.0
    most = stats.beta.isf(ALPHA / 2, others + 1, n - others) if others < n else 1.0
    return np.log((least - delta) / most) if least > delta else -np.inf


def released(mechanism, counts):
    """Release a log's counts many times; return what was published, 0 where nothing was."""
    copies = np.tile(counts, (N_RELEASES, 1))
    named = mechanism.draw(copies.ravel())
    published = np.zeros(copies.size, dtype=np.int64)
    published[named.is_named] = named.noisy_counts
    return published.reshape(copies.shape)


def cheated(mechanism, **terms):
    """Return what a defect would draw with: `mechanism` is charged, and these terms are kept."""
    terms = {"epsilon": mechanism.budget.epsilon, "delta": mechanism.budget.delta} | terms
    return ZealousMechanism.for_budget(
        Budget(**terms), mechanism.relaxation, mechanism.items_per_user, mechanism.n_users
    )


def audit(mechanisms):
    """Bound epsilon from a person who has m items in every histogram, or m others instead.

    The event: in every histogram the first m noisy counts are at least what they are with the
    person, and the others at most what they are without. Each of the 2m factors is as unlike as
    any can be, so that the ratio is e^epsilon: (1+a)^-2m against (a/(1+a))^2m.
    """
    hits, others = (np.ones(N_RELEASES, dtype=bool) for _ in range(2))
    for mechanism in mechanisms:
        m = mechanism.items_per_user
        own, other = [COUNT + 1] * m + [COUNT] * m, [COUNT] * m + [COUNT + 1] * m
        for happened, counts in ((hits, own), (others, other)):
            noisy = released(mechanism, counts)
            happened &= np.all(noisy[:, :m] >= COUNT + 1, axis=1)
            happened &= np.all(noisy[:, m:] <= COUNT, axis=1)
    delta = float(sum(mechanism.budget.delta for mechanism in mechanisms))
    return lower_bound(int(hits.sum()), int(others.sum()), N_RELEASES, delta)


def mechanisms_of(**settings):
    """Return the mechanisms of a release, from the parts of its budget that each draw pays."""
    request = request_for(Path("log.tsv"), **(DEFAULTS | settings))
    groups = {
        kind: Terms(
            epsilon_nano=int(price.epsilon * 10**9),
            delta_atto=int(price.delta * 10**18),
            members=100_000,
        )
        for kind, price in request.prices().items()
    }
    parameters = request.parameters()
    return [mechanism_for(parameters, groups, kind) for kind in request.kinds]


RELEASES = {
    "one item": {"histograms": ("queries",)},
    "one item, probabilistic": {"histograms": ("queries",), "relaxation": PROBABILISTIC},
    "two items": {"histograms": ("queries",), "items_per_user": 2},
    "two histograms": {"histograms": ("queries", "clicks")},
}


@pytest.mark.parametrize("settings", RELEASES.values(), ids=RELEASES.keys())
def test_epsilon_of_a_release_is_at_most_and_nearly_what_everybody_paid(settings):
    """Claim: epsilon 1. False alarms: ALPHA above, less below.

    From 250,000 releases of each log the bound is 0.96 for one item, and 0.90 with a standard
    deviation of 0.012 for two items or two histograms, where the event is rarer.
    """
    bound = audit(mechanisms_of(**settings))
    assert TIGHT <= bound <= 1, f"lower bound {bound:.3f} from {N_RELEASES:,} releases each"


def test_half_the_noise_is_found():
    """The truth is epsilon 2 then, and the bound is 1.9, far above the claim."""
    mechanisms = mechanisms_of(**RELEASES["two histograms"])
    bound = audit([cheated(m, epsilon=2 * m.budget.epsilon) for m in mechanisms])
    assert bound > 1.5, f"lower bound {bound:.3f} from {N_RELEASES:,} releases each"


def leaked(mechanism):
    """Bound from below how often any item is named that one person alone holds."""
    m = mechanism.items_per_user
    published = released(mechanism, [mechanism.first_threshold] * m)
    n_named = int(np.any(published > 0, axis=1).sum())
    return stats.beta.ppf(ALPHA, n_named, N_RELEASES - n_named + 1)


@pytest.mark.parametrize("m", [1, 2])
def test_delta_is_at_most_and_nearly_the_chance_that_an_own_item_is_named(m):
    """The log without the person names none of them, so that the chance itself is delta.

    Delta 0.05 can be sampled. False alarms: ALPHA. A threshold that is one lower is found.
    """
    delta = Fraction(1, 20)
    mechanism = ZealousMechanism.for_budget(Budget(2 * m, delta), INDISTINGUISHABLE, m, 1_000)
    assert TIGHT * mechanism.event.leak <= leaked(mechanism) <= mechanism.event.leak <= delta
    loose = cheated(mechanism, delta=2 * delta)
    assert loose.threshold == mechanism.threshold - 1
    assert leaked(loose) > delta


def test_the_bound_is_a_bound():
    """On counts of a known ratio: below it, nearer with more releases, and nothing from nothing."""
    truth = np.log(0.4 / 0.1)
    few, many = (lower_bound(int(0.4 * n), int(0.1 * n), n, 0.0) for n in (1_000, 1_000_000))
    assert 0 < few < many < truth
    assert many > 0.95 * truth
    assert lower_bound(0, 0, 1_000, 0.0) == -np.inf
    assert lower_bound(400, 100, 1_000, 0.5) == -np.inf, "delta alone explains it"
    assert lower_bound(1_000, 0, 1_000, 0.0) > 3
