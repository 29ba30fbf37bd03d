"""The anonymity baselines do what they say, exactly; what that is worth is in test_attacks.py."""

from collections import Counter
from itertools import groupby
from types import SimpleNamespace

import numpy as np
import pytest

from hybriddp.errors import InvalidParameter
from hybriddp.studies.attacks.anonymity import AnonymousLog, anonymise_queries, anonymise_sessions
from hybriddp.studies.attacks.keywords import GENERALISED_KEYWORDS, KeywordTree, anonymise_keywords
from hybriddp.zealous.item_kinds import CLICKS, KEYWORDS, PAIRS, QUERIES
from hybriddp.zealous.items import SESSION_GAP_SECONDS, QueryWords, SearchLog, items_of

# Leaves pseudonyms in the order of users, for tests that have to know who is who.
IN_ORDER = SimpleNamespace(permutation=np.arange)

METHODS = [anonymise_queries, anonymise_sessions, anonymise_keywords]


def log_of(histories, words):
    """Make a log of every user's sessions of queries; `words` are the keywords of each query."""
    rows = [
        (user, 10_000 * number, query)
        for user, sessions in enumerate(histories)
        for number, session in enumerate(sessions)
        for query in session
    ]
    users, seconds, queries = np.array(rows, dtype=np.int64).reshape(-1, 3).T
    starts = np.append(0, np.cumsum([len(w) for w in words]))
    table = QueryWords(starts, np.array([w for ws in words for w in ws], dtype=np.int64))
    return SearchLog(users, seconds, queries, np.full(len(rows), -1), len(histories), 1, table)


def one_word_each(n_queries):
    """Query q is keyword q."""
    return [[q] for q in range(n_queries)]


def shown(anonymous):
    """Return what each pseudonym shows, as lists in their order."""
    rows = zip(anonymous.pseudonyms.tolist(), anonymous.items.tolist(), strict=True)
    return [[item for _, item in rows] for _, rows in groupby(rows, key=lambda row: row[0])]


def counts_of(anonymous, kind):
    """Return a histogram as a dict."""
    items, counts = anonymous.histogram(kind)
    return dict(zip(items.tolist(), counts.tolist(), strict=True))


def random_log(rng, n_users=60, n_words=40):
    """Make a log with a few popular keywords and many rare ones; some users search for nothing."""
    weights = 1 / np.arange(1, n_words + 1) ** 1.3
    n_queries = 50
    words = [
        sorted(set(rng.choice(n_words, rng.integers(1, 4), p=weights / weights.sum()).tolist()))
        for _ in range(n_queries)
    ]
    popularity = 1 / np.arange(1, n_queries + 1)
    histories = [
        [
            rng.choice(n_queries, rng.integers(1, 4), p=popularity / popularity.sum()).tolist()
            for _ in range(rng.integers(0, 5))
        ]
        for _ in range(n_users)
    ]
    return log_of(histories, words)


# ---- k-query anonymity ----


def test_queries_of_too_few_users_are_dropped_and_all_others_kept(rng):
    # Query 0: users 0, 1, 2. Query 1: users 0, 1 (twice). Query 2: user 2, three times.
    log = log_of([[[1, 0]], [[1], [0, 1]], [[2, 0], [2, 2]]], one_word_each(3))
    three = anonymise_queries(log, 3, rng=rng)
    assert sorted(shown(three)) == [[0], [0], [0]]
    two = anonymise_queries(log, 2, rng=rng)
    assert sorted(shown(two)) == [[0], [0, 1], [1], [1, 0]]  # in the order of asking
    assert counts_of(two, QUERIES) == {0: 3, 1: 2}


def test_sessions_of_one_user_cannot_be_linked(rng):
    """Each session has a pseudonym of its own, and their order says nothing: the sessions of
    200 users stay in place with a probability below 1e-300."""
    log = log_of([[[q], [q]] for q in range(100) for _ in range(2)], one_word_each(100))
    anonymous = anonymise_queries(log, 2, rng=rng)
    assert anonymous.pseudonyms.tolist() == list(range(400))
    assert Counter(anonymous.items.tolist()) == dict.fromkeys(range(100), 4)
    assert anonymous.items.tolist() != log.queries.tolist()


def test_histograms_count_original_users_not_sessions(rng):
    """Keywords 0 and 1 of query 0, keyword 1 of query 1; two users, three sessions each."""
    log = log_of([[[0], [0], [1]], [[0], [1], [1]]], [[0, 1], [1]])
    anonymous = anonymise_queries(log, 2, rng=rng)
    assert len(shown(anonymous)) == 6
    assert counts_of(anonymous, QUERIES) == {0: 2, 1: 2}
    assert counts_of(anonymous, KEYWORDS) == {0: 2, 1: 2}


def test_keyword_of_many_rare_queries_is_lost(rng):
    """ZEAL section 3.1: a frequent keyword may show up in infrequent queries only."""
    log = log_of([[[0]], [[1]], [[2]]], [[17, 0], [17, 1], [17, 2]])
    assert counts_of(anonymise_queries(log, 2, rng=rng), KEYWORDS) == {}
    generalised = anonymise_keywords(log, 3, rng=rng)
    assert counts_of(generalised, KEYWORDS) == {17: 3}


def test_queries_around_a_dropped_one_become_a_pair_of_the_same_session(rng):
    """The dropped query kept the session together: 20 minutes before it and 20 after it."""
    log = log_of([[[0, 2, 1]], [[0], [1]]], one_word_each(3))
    minutes = np.array([0, 20, 40, 0, 300]) * 60
    assert SESSION_GAP_SECONDS < 40 * 60
    log = SearchLog(log.users, minutes, log.queries, log.urls, 2, 1, log.words)
    anonymous = anonymise_queries(log, 2, rng=rng)
    assert sorted(shown(anonymous)) == [[0], [0, 1], [1]]
    assert counts_of(anonymous, PAIRS) == {0 * 3 + 1: 1}  # of one user only, in spite of k


def test_no_count_is_below_k_and_those_above_are_exact(rng):
    """ZEAL section 8.1, on random logs."""
    for _ in range(10):
        log = random_log(rng)
        anonymous = anonymise_queries(log, 4, rng=rng)
        items, counts = items_of(log, QUERIES).histogram()
        frequent = {i: c for i, c in zip(items.tolist(), counts.tolist(), strict=True) if c >= 4}
        assert counts_of(anonymous, QUERIES) == frequent
        assert len(frequent) > 5
        assert min(counts_of(anonymous, KEYWORDS).values()) >= 4


# ---- k-session anonymity ----


def test_sessions_lose_their_rarest_keywords_until_enough_users_share_them(rng):
    # Keyword 0 has 4 users, 1 has 3, 2 has 2, 3 has 1.
    words = one_word_each(4)
    log = log_of([[[0, 1, 3]], [[1, 0]], [[2, 0]], [[2, 0, 1]]], words)
    anonymous = anonymise_sessions(log, 2, rng=rng)
    # {0,1,3}, {0,1} and {0,1,2} become {0,1}; {0,2} has nobody like it and {0} has nobody left.
    assert sorted(map(sorted, shown(anonymous))) == [[0, 1], [0, 1], [0, 1]]
    assert counts_of(anonymous, KEYWORDS) == {0: 3, 1: 3}


def test_user_who_repeats_a_session_is_no_crowd(rng):
    log = log_of([[[0], [0], [0]], [[1]]], one_word_each(2))
    assert len(anonymise_sessions(log, 2, rng=rng)) == 0


def rarest_first(log, k):
    """Return the session sets by the docstring's words, one session at a time."""
    n_holders = Counter(items_of(log, KEYWORDS).items.tolist())
    sessions = log.sessions().tolist()
    sets, owner = {}, {}
    for session, user, query in zip(
        sessions, log.users.tolist(), log.queries.tolist(), strict=True
    ):
        sets[session] = sets.get(session, set()) | set(log.words.of(query).tolist())
        owner[session] = user
    for size in range(max(map(len, sets.values())), 0, -1):
        alike = {}
        for session, keywords in sets.items():
            if len(keywords) == size:
                alike.setdefault(frozenset(keywords), []).append(session)
        for members in alike.values():
            if len({owner[s] for s in members}) < k:
                for s in members:
                    sets[s] = sets[s] - {min(sets[s], key=lambda w: (n_holders[w], -w))}
    return Counter(frozenset(keywords) for keywords in sets.values() if keywords), sets, owner


@pytest.mark.parametrize("k", [2, 3, 8, 20])
def test_every_published_session_is_that_of_k_different_users(rng, k):
    """On random logs, against the plain algorithm, which knows whose each session is."""
    for _ in range(5):
        log = random_log(rng)
        expected, sets, owner = rarest_first(log, k)
        anonymous = anonymise_sessions(log, k, rng=rng)
        assert Counter(frozenset(s) for s in shown(anonymous)) == expected
        for published in expected:
            users = {owner[s] for s, keywords in sets.items() if keywords == published}
            assert len(users) >= k
        by_user = Counter(w for u in range(60) for w in set().union(
            *(keywords for s, keywords in sets.items() if owner[s] == u)
        ))  # fmt: skip
        assert counts_of(anonymous, KEYWORDS) == by_user


# ---- k-keyword anonymity ----


def test_tree_has_the_digits_of_a_keyword_as_its_path():
    tree = KeywordTree(3)
    assert tree.label(0) == "*"
    path = [0]
    for _ in range(3):
        digit = tree.next_digits(np.array([42]), np.array([path[-1]]))[0]
        path.append(10 * path[-1] + 1 + digit)
    assert [tree.label(node) for node in path] == ["*", "0*", "04*", "042"]
    assert path[-1] == tree.leaves(42)
    assert tree.level_of(path).tolist() == [0, 1, 2, 3]


def labels(log, anonymous):
    """Return every published history as sorted labels."""
    tree = KeywordTree.of(log)
    return sorted(sorted(map(tree.label, items)) for items in shown(anonymous))


def test_prefixes_are_opened_for_those_who_are_enough(rng):
    """Two users with {11, 25}, two with {12, 25}, two with {13, 31}, for k = 2, 3, 4."""
    words = [[w] for w in range(40)]
    log = log_of([[[11, 25]]] * 2 + [[[12, 25]]] * 2 + [[[13, 31]]] * 2, words)
    two = anonymise_keywords(log, 2, rng=rng)
    assert labels(log, two) == [["11", "25"]] * 2 + [["12", "25"]] * 2 + [["13", "31"]] * 2
    assert counts_of(two, KEYWORDS) == {11: 2, 12: 2, 13: 2, 25: 4, 31: 2}
    # Of the four with digits {1, 2}, one is lent to the two with {1, 3}; three agree on 25 only.
    three = anonymise_keywords(log, 3, rng=rng)
    assert labels(log, three) == [["*"]] * 3 + [["1*", "25"]] * 3
    # Of four none can be spared, so all stay together.
    assert labels(log, anonymise_keywords(log, 4, rng=rng)) == [["*"]] * 6


def test_closed_prefix_does_not_close_the_others(rng):
    """1* cannot be opened, 2* can: the highest prefixes are tried one after the other."""
    log = log_of([[[10, 25]], [[11, 25]], [[12, 25]]], one_word_each(30))
    anonymous = anonymise_keywords(log, 3, rng=rng)
    assert labels(log, anonymous) == [["1*", "25"]] * 3
    assert counts_of(anonymous, KEYWORDS) == {25: 3}
    tree = KeywordTree.of(log)
    generalised = counts_of(anonymous, GENERALISED_KEYWORDS)
    assert {tree.label(node): count for node, count in generalised.items()} == {"1*": 3, "25": 3}


def test_largest_group_lends_its_users_to_those_left_behind(rng):
    """One outlier needs two more users; five of seven are still published whole."""
    log = log_of([[[11]]] * 7 + [[[25]]], one_word_each(30))
    assert labels(log, anonymise_keywords(log, 3, rng=rng)) == [["*"]] * 3 + [["11"]] * 5


@pytest.mark.parametrize("k", [2, 3, 8, 20])
def test_every_published_history_is_that_of_k_users_and_true(rng, k):
    """On random logs with two and three digits: each keyword of a user is below exactly one of the
    user's published prefixes, and each of these above one of the user's keywords."""
    n_whole = 0
    for n_words in (40, 40, 700):
        log = random_log(rng, n_words=n_words)
        tree, held = KeywordTree.of(log), items_of(log, KEYWORDS)
        own_paths = {}  # user: for each keyword its own node and all above it
        for user, word in zip(held.users.tolist(), held.items.tolist(), strict=True):
            path = [int(tree.leaves(word))]
            while path[-1]:
                path.append((path[-1] - 1) // 10)
            own_paths.setdefault(user, []).append(set(path))
        anonymous = anonymise_keywords(log, k, rng=IN_ORDER)
        histories = [frozenset(items) for items in shown(anonymous)]
        assert min(Counter(histories).values()) >= k
        for history, paths in zip(histories, own_paths.values(), strict=True):
            assert all(len(path & history) == 1 for path in paths)
            assert history <= set().union(*paths)
        by_user = Counter(node for history in histories for node in history)
        assert counts_of(anonymous, GENERALISED_KEYWORDS) == by_user
        whole = {w: by_user[n] for w in range(n_words) if (n := int(tree.leaves(w))) in by_user}
        assert counts_of(anonymous, KEYWORDS) == whole
        n_whole += len(whole)
    assert n_whole > 0 or k > 3  # small crowds agree on something in 60 users


def test_histories_of_k_users_each_are_published_whole(rng):
    crowd = [[[q for q in range(5 * i, 5 * i + 5)]] for i in range(10) for _ in range(3)]
    log = log_of(crowd, [[w] for w in range(50)])
    anonymous = anonymise_keywords(log, 3, rng=rng)
    assert counts_of(anonymous, KEYWORDS) == dict.fromkeys(range(50), 3)
    assert counts_of(anonymous, GENERALISED_KEYWORDS).keys() == set(
        KeywordTree.of(log).leaves(np.arange(50)).tolist()
    )


# ---- all of them ----


@pytest.mark.parametrize("method", METHODS)
def test_too_small_a_log_publishes_nothing(method, rng):
    nobody = log_of([[], []], one_word_each(3))
    assert len(method(nobody, 2, rng=rng)) == 0
    four = log_of([[[0, 1]]] * 4, one_word_each(3))
    assert len(method(four, 5, rng=rng)) == 0
    assert counts_of(method(four, 5, rng=rng), KEYWORDS) == {}
    assert counts_of(method(four, 4, rng=rng), KEYWORDS) == {0: 4, 1: 4}


@pytest.mark.parametrize("method", METHODS)
def test_nobody_is_anonymous_alone(method, rng):
    log = log_of([[[0]]], one_word_each(1))
    for no_crowd in (1, 0, -3, 2.0, True):
        with pytest.raises(InvalidParameter, match="min_users must be a whole number"):
            method(log, no_crowd, rng=rng)


@pytest.mark.parametrize("method", METHODS)
def test_chance_decides_the_pseudonyms_only(method, rng):
    log = random_log(rng)
    first, second = (method(log, 3, rng=np.random.default_rng(seed)) for seed in (1, 2))
    assert first.items.tolist() != second.items.tolist()
    assert sorted(shown(first)) == sorted(shown(second))
    assert set(first.pseudonyms.tolist()) == set(range(len(shown(first))))


@pytest.mark.parametrize(
    ("method", "kinds"),
    [
        (anonymise_queries, {KEYWORDS, QUERIES, PAIRS}),
        (anonymise_sessions, {KEYWORDS}),
        (anonymise_keywords, {KEYWORDS, GENERALISED_KEYWORDS}),
    ],
)
def test_methods_refuse_the_histograms_that_they_do_not_have(method, kinds, rng):
    anonymous = method(random_log(rng), 3, rng=rng)
    for kind in (KEYWORDS, QUERIES, PAIRS, CLICKS, GENERALISED_KEYWORDS):
        if kind in kinds:
            assert len(anonymous.histogram(kind)[0]) > 0
        else:
            with pytest.raises(InvalidParameter, match="that this method keeps"):
                anonymous.histogram(kind)


@pytest.mark.parametrize("method", METHODS)
def test_results_say_loudly_that_they_are_not_private(method, rng):
    anonymous = method(random_log(rng), 3, rng=rng)
    assert type(anonymous) is AnonymousLog
    assert anonymous.is_differentially_private is False
    assert "NOT differentially private" in anonymous.guarantee
    assert "at least 3 user ids" in anonymous.guarantee
