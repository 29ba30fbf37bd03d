"""The attacks of ZEAL section 3.2: certain against the baselines, limited against ZEALOUS.

Against ZEALOUS nothing is sampled but where the played attack is compared with the exact one.
"""

import math
from dataclasses import dataclass
from itertools import combinations_with_replacement, count, product

import numpy as np
import pytest

from hybriddp.errors import InvalidParameter
from hybriddp.noise.laplace import DiscreteLaplace
from hybriddp.params import Budget
from hybriddp.studies.attacks.anonymity import anonymise_queries, anonymise_sessions
from hybriddp.studies.attacks.games import (
    AttackOutcome,
    active_attack,
    add_accounts,
    best_attack,
    homogeneity_attack,
    outcome_laws,
    publication_attack,
    replace_histories,
    shown_items,
    shown_sets,
)
from hybriddp.studies.attacks.keywords import KeywordTree, anonymise_keywords
from hybriddp.zealous.item_kinds import QUERIES
from hybriddp.zealous.items import QueryWords, SearchLog, items_of
from tests.repository import ROOT
from tests.stats import ALPHA, law_p_value

# Queries 0 to 899 have one or two keywords below 900; 900 is the way to the hospital, 901 another.
SECRET, OTHER = 900, 901
SECRET_WORDS = frozenset({950, 960})
STARTS = np.append(np.arange(900) + np.arange(900) // 2, [1350, 1352, 1354]).astype(np.int64)
WORDS = QueryWords(
    STARTS,
    np.concatenate([np.arange(1350) % 900, [950, 960, 970, 980]]).astype(np.int64),
)
VICTIM = 7


def town(rng, n_users=150):
    """Make the log of a town: a third of it asks for the same, the others for this and that."""
    nobody = np.zeros(0, np.int64)
    log = SearchLog(nobody, nobody, nobody, nobody, n_users, 1, WORDS)
    log = replace_histories(log, range(n_users // 3, 2 * n_users // 3), [[0, 1], [2]])
    for user in (*range(n_users // 3), *range(2 * n_users // 3, n_users)):
        history = [rng.integers(0, 60, rng.integers(1, 4)).tolist() for _ in range(2)]
        log = replace_histories(log, [user], history)
    return log


def published_queries(k, rng):
    """What is looked for in a k-query anonymous log: a query."""
    return lambda log: shown_items(anonymise_queries(log, k, rng=rng))


def published_sessions(k, rng):
    """What is looked for in a k-session anonymous log: a session's keywords."""
    return lambda log: shown_sets(anonymise_sessions(log, k, rng=rng))


def published_histories(k, rng):
    """What is looked for in a k-keyword anonymous log: a user's keywords."""
    return lambda log: shown_sets(anonymise_keywords(log, k, rng=rng))


SECRET_LEAVES = frozenset(KeywordTree(3).leaves(sorted(SECRET_WORDS)).tolist())
BASELINES = [
    pytest.param(published_queries, SECRET, id="k-query"),
    pytest.param(published_sessions, SECRET_WORDS, id="k-session"),
    pytest.param(published_histories, SECRET_LEAVES, id="k-keyword"),
]


# ---- the baselines ----


@pytest.mark.parametrize(("publisher", "trace"), BASELINES)
@pytest.mark.parametrize("k", [2, 5, 20])
def test_active_attack_is_certain_against_the_baselines(publisher, trace, k, rng):
    """ZEAL example 2, in three towns: k - 1 accounts, and the neighbour is found out either way."""
    for _ in range(3):
        innocent = town(rng)
        guilty = replace_histories(innocent, [VICTIM], [[SECRET]])
        publish = publisher(k, rng)
        outcome = active_attack(publish, innocent, guilty, [[SECRET]], trace, k - 1)
        assert outcome == AttackOutcome(p_if_guilty=1, p_if_innocent=0)
        assert outcome.advantage == 1


@pytest.mark.parametrize(("publisher", "trace"), BASELINES)
def test_active_attack_needs_exactly_the_right_number_of_accounts(publisher, trace, rng):
    """With fewer nothing is ever published, with more it always is. The attacker must know how many
    others ask: two of them replace two accounts."""
    innocent = town(rng)
    k, publish = 10, publisher(10, rng)
    for n_askers, n_accounts, advantage in [(0, 8, 0), (0, 9, 1), (0, 10, 0), (2, 9, 0), (2, 7, 1)]:
        crowd = replace_histories(innocent, range(100, 100 + n_askers), [[SECRET]])
        guilty = replace_histories(crowd, [VICTIM], [[SECRET]])
        outcome = active_attack(publish, crowd, guilty, [[SECRET]], trace, n_accounts)
        assert outcome.advantage == advantage, (k, n_askers, n_accounts)


def test_victims_other_searches_do_not_hide_a_query_or_a_session(rng):
    """The victim's history is known in part only; that is enough but for k-keyword anonymity."""
    innocent = replace_histories(town(rng), [VICTIM], [[0, 3], [5]])
    guilty = replace_histories(innocent, [VICTIM], [[0, 3], [5], [SECRET]])
    for publisher, trace, advantage in [
        (published_queries, SECRET, 1),
        (published_sessions, SECRET_WORDS, 1),
        (published_histories, SECRET_LEAVES, 0),
    ]:
        outcome = active_attack(publisher(5, rng), innocent, guilty, [[SECRET]], trace, 4)
        assert outcome.advantage == advantage
    # A copy of the whole history is needed there, and enough.
    copied = [[0, 3], [5], [SECRET]]
    words = {w for q in (0, 3, 5, SECRET) for w in WORDS.of(q).tolist()}
    whole = frozenset(KeywordTree(3).leaves(sorted(words)).tolist())
    outcome = active_attack(published_histories(5, rng), innocent, guilty, copied, whole, 4)
    assert outcome.advantage == 1


@pytest.mark.parametrize(("publisher", "trace"), BASELINES)
def test_homogeneity_attack_is_certain_against_the_baselines(publisher, trace, rng):
    """ZEAL example 1: the 100 with access in SmallTown, k = 100. Each is found out, and each would
    have been cleared by not asking."""
    log, group = town(rng, n_users=400), list(range(20)) + list(range(300, 380))
    outcomes = homogeneity_attack(publisher(100, rng), log, group, [[SECRET]], trace, 100)
    assert outcomes == [AttackOutcome(1, 0)] * 100


@pytest.mark.parametrize(("publisher", "trace"), BASELINES)
def test_homogeneity_attack_says_nothing_where_more_could_have_asked(publisher, trace, rng):
    log = town(rng)
    outcomes = homogeneity_attack(publisher(5, rng), log, range(6), [[SECRET]], trace, 5)
    assert outcomes == [AttackOutcome(0, 0)] * 6


# ---- ZEALOUS ----


@dataclass(frozen=True)
class NoisyRelease:
    """The numbers of a small ZEALOUS of our own, so that the attacks are tried by themselves."""

    noise: DiscreteLaplace
    threshold: int
    first_threshold: int = 1


def indistinguishable_release(budget, items_per_user):
    """Theorem 1 with the corrected threshold and integer noise: m a^tau'/(1+a) <= delta."""
    noise = DiscreteLaplace.for_epsilon(budget.epsilon, 2 * items_per_user)
    return next(
        NoisyRelease(noise, threshold)
        for threshold in count(1)
        if items_per_user * noise.tail(threshold) <= budget.delta
    )


def probabilistic_release(budget, items_per_user, n_users):
    """Theorem 2 with integer noise: a^(tau'-tau+1)/(1+a) <= min(1 - a, delta tau/(U m))."""
    noise = DiscreteLaplace.for_epsilon(budget.epsilon, 2 * items_per_user)
    best = float(2 * items_per_user / budget.epsilon)
    return min(
        (
            next(
                NoisyRelease(noise, threshold, tau)
                for threshold in count(tau)
                if noise.tail(threshold - tau + 1)
                <= min(1 - noise.decay, budget.delta * tau / (n_users * items_per_user))
            )
            for tau in {max(math.floor(best), 1), math.ceil(best)}
        ),
        key=lambda release: release.threshold,
    )


def zealous(release, items_per_user, rng):
    """Steps 1 to 6 of ZEALOUS on queries (ZEAL section 5)."""

    def publish(log):
        items, counts = items_of(log, QUERIES).bounded(items_per_user, rng=rng).histogram()
        is_kept = counts >= release.first_threshold
        noisy = release.noise.simulate(counts[is_kept], rng=rng)
        return frozenset(items[is_kept][noisy > release.threshold].tolist())

    return publish


BUDGETS = [Budget(e, d) for e in ("0.1", "1", "5") for d in ("1e-2", "1e-5")]
SETTINGS = [
    (budget, m, release)
    for budget, m in product(BUDGETS, (1, 5))
    for release in (
        indistinguishable_release(budget, m),
        probabilistic_release(budget, m, 500_000),
    )
]


@pytest.mark.parametrize(("budget", "items_per_user", "release"), SETTINGS)
def test_no_number_of_accounts_takes_more_from_zealous_than_its_promise(
    budget, items_per_user, release
):
    """Both attacks change one count by one: here every count up to far above the threshold. What
    one item can tell is far within the promise, which covers 2m of them."""
    n_others = range(int(release.threshold + 20 * release.noise.scale))
    outcomes = [publication_attack(release, n) for n in n_others]
    assert all(o.advantage <= o.limit(budget) for o in outcomes)
    a = release.noise.decay
    assert max(o.advantage for o in outcomes) == pytest.approx((1 - a) / (1 + a))
    assert (1 - a) / (1 + a) <= math.tanh(budget.epsilon / (4 * items_per_user)) * (1 + 1e-9)
    for n in n_others[:: max(len(n_others) // 20, 1)]:
        best = best_attack(release, np.array([n]), np.array([n + 1]))
        assert outcomes[n].advantage <= best.advantage + 1e-15
        assert best.advantage <= best.limit(budget)


def worst_excess(release, innocent, guilty, budget):
    """Return the largest P(O) - e^epsilon Q(O) over all sets of outcomes, in both directions."""
    ratio, laws = math.exp(budget.epsilon), outcome_laws(release, innocent, guilty)
    return max(float(np.maximum(p - ratio * q, 0).sum()) for p, q in (laws, laws[::-1]))


@pytest.mark.parametrize("items_per_user", [1, 2, 3])
@pytest.mark.parametrize("budget", [Budget("0.5", "1e-2"), Budget(2, "1e-5")])
def test_no_conclusion_from_all_items_of_a_victim_exceeds_the_promise(budget, items_per_user):
    """The victim has m items in one world and m others in the other, and nobody or any number of
    accounts is behind each. The probabilities of every conclusion differ by at most
    (e^epsilon - 1) p + delta."""
    m = items_per_user
    is_own = np.arange(2 * m) < m
    for release in (
        indistinguishable_release(budget, m),
        probabilistic_release(budget, m, 10_000),
    ):
        tau, top = release.first_threshold, release.threshold
        others = combinations_with_replacement(sorted({0, tau - 1, tau, top, top + 9}), m)
        worst = max(
            worst_excess(release, base + ~is_own, base + is_own, budget)
            for base in map(np.concatenate, product(list(others), repeat=2))
        )
        assert worst <= float(budget.delta)
        if tau == 1:  # all of the promise is needed, for items that nobody else has
            alone = 1 - (1 - float(release.noise.tail(top))) ** m
            assert worst == pytest.approx(alone, rel=1e-9)


@pytest.mark.parametrize("threshold", [1, 4, 9])
@pytest.mark.parametrize(("first_threshold", "low"), [(1, 0), (1, 3), (1, 12), (4, 3), (4, 8)])
def test_three_outcomes_tell_as_much_as_all_noisy_counts(threshold, first_threshold, low):
    release = NoisyRelease(DiscreteLaplace(2.0), threshold, first_threshold)
    noisy = np.arange(threshold + 1, 200)
    laws = []
    for n in (low, low + 1):
        law = release.noise.pmf(noisy - n) * (n >= first_threshold)
        laws.append(np.append(law, 1 - law.sum()))
    best = best_attack(release, np.array([low]), np.array([low + 1]))
    assert best.advantage == pytest.approx(np.abs(laws[1] - laws[0]).sum() / 2, rel=1e-9)
    assert best.p_if_guilty > best.p_if_innocent
    published = publication_attack(release, low)
    assert published.p_if_guilty == pytest.approx(laws[1][:-1].sum(), rel=1e-9)
    assert published.p_if_innocent == pytest.approx(laws[0][:-1].sum(), rel=1e-9, abs=0)


def test_releases_that_are_not_zealous_exceed_the_promise():
    """The check can fail: a threshold that is one too low, half the noise, and next to none."""
    budget = Budget(1, "1e-5")
    sound = indistinguishable_release(budget, 1)
    alone, crowded = np.zeros(2, np.int64), np.full(2, sound.threshold + 30)

    def excess(release, n_others):
        is_first = np.array([True, False])
        return worst_excess(release, n_others + ~is_first, n_others + is_first, budget)

    assert max(excess(sound, alone), excess(sound, crowded)) <= 1e-5
    assert excess(NoisyRelease(sound.noise, sound.threshold - 1), alone) > 1e-5
    assert excess(NoisyRelease(DiscreteLaplace(1.0), sound.threshold), crowded) > 0.1
    ten_query_anonymous = publication_attack(NoisyRelease(DiscreteLaplace(0.01), 9), 9)
    assert ten_query_anonymous.advantage == pytest.approx(1)
    assert ten_query_anonymous.limit(budget) < 1e-4


@pytest.mark.statistical
def test_attacks_played_against_zealous_follow_the_exact_probabilities(rng):
    """400 rounds each; false alarm below 4 ALPHA. The chances are .62 and .38; if the attack were
    off by two accounts the first would be .86, ten standard errors away, and is rejected."""
    release = indistinguishable_release(Budget(1, "0.05"), 1)
    publish, n_rounds = zealous(release, 1, rng), 400
    innocent = town(rng, 40)
    guilty = replace_histories(innocent, [VICTIM], [[SECRET]])
    n_accounts = release.threshold
    active = active_attack(publish, innocent, guilty, [[SECRET]], SECRET, n_accounts, n_rounds)
    group = range(release.threshold + 1)
    (homogeneous, *_) = homogeneity_attack(
        publish, innocent, group, [[SECRET]], SECRET, len(group), n_rounds
    )
    exact = publication_attack(release, n_accounts)
    for played in (active, homogeneous):
        for rate, chance in (
            (played.p_if_guilty, exact.p_if_guilty),
            (played.p_if_innocent, exact.p_if_innocent),
        ):
            hits = round(rate * n_rounds)
            assert law_p_value(np.array([hits, n_rounds - hits]), [chance, 1 - chance]) > ALPHA
    two_more = publication_attack(release, n_accounts + 2).p_if_guilty
    hits = round(active.p_if_guilty * n_rounds)
    assert law_p_value(np.array([hits, n_rounds - hits]), [two_more, 1 - two_more]) < ALPHA


# ---- the attacker's tools ----


def test_replaced_histories_and_accounts_leave_everybody_else_alone(rng):
    log = town(rng)
    changed = add_accounts(replace_histories(log, [3, 9], [[5, 6], [7]]), 2, [[SECRET]])
    assert changed.n_users == log.n_users + 2
    for user in range(log.n_users):
        expected = [5, 6, 7] if user in (3, 9) else log.queries[log.users == user].tolist()
        assert changed.queries[changed.users == user].tolist() == expected
    assert changed.queries[changed.users >= log.n_users].tolist() == [SECRET, SECRET]
    of_three = changed.sessions()[changed.users == 3]
    assert np.diff(of_three).tolist() == [0, 1]  # two sessions, as they were given
    with pytest.raises(InvalidParameter, match="users must be some of the log's"):
        replace_histories(log, [log.n_users], [[0]])


def test_exact_attack_refuses_logs_that_are_no_neighbours():
    release = NoisyRelease(DiscreteLaplace(2.0), 5)
    for innocent, guilty in [([1], [3]), ([1, 2], [1]), ([0] * 11, [1] * 11)]:
        with pytest.raises(InvalidParameter, match="neighbouring logs"):
            best_attack(release, np.array(innocent), np.array(guilty))


def test_page_shows_the_numbers_of_the_exact_attack():
    """The table of docs/anonymity.md, row by row."""
    page = (ROOT / "docs" / "anonymity.md").read_text()
    for epsilon, m in product(("0.1", "0.5", "1"), (1, 5)):
        release = indistinguishable_release(Budget(epsilon, "1e-5"), m)
        nineteen = publication_attack(release, 19)
        best = max(
            (publication_attack(release, n) for n in range(2 * release.threshold)),
            key=lambda outcome: outcome.advantage,
        )
        row = (
            f"| {epsilon} | {m} | {release.threshold} | {nineteen.advantage:.2g} "
            f"| {best.advantage:.3f} | {best.limit(Budget(epsilon, '1e-5')):.3f} |"
        )
        assert row in page, row
