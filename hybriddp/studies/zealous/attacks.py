"""The attacks of ZEAL section 3.2 as runs of a study: played in a town, or exact for ZEALOUS."""

from collections.abc import Callable, Hashable
from collections.abc import Set as AbstractSet

import numpy as np

from hybriddp.arrays import IntArray
from hybriddp.studies.attacks.anonymity import anonymise_queries, anonymise_sessions
from hybriddp.studies.attacks.games import (
    active_attack,
    homogeneity_attack,
    publication_attack,
    replace_histories,
    shown_items,
    shown_sets,
)
from hybriddp.studies.attacks.keywords import KeywordTree, anonymise_keywords
from hybriddp.studies.zealous.settings import ACTIVE, K_QUERY, K_SESSION, ZEALOUS, ZealousSetting
from hybriddp.zealous.items import SESSION_GAP_SECONDS, QueryWords, SearchLog

# The town: a third asks for the same, the others for this and that.
N_PEOPLE = 400
_N_ORDINARY, _N_USUAL = 900, 60  # queries with ordinary words; those that people ask
_SECRET = _N_ORDINARY  # the query that is suspected: two words that no other query has
_SECRET_WORDS = (950, 960)
_VICTIM = 0

Measured = dict[str, float | str | None]


def attack_rows(setting: ZealousSetting, *, rng: np.random.Generator) -> Measured:
    """Return how much an attacker learns who looks for one search of one person.

    Active: k - 1 accounts ask for it, too. Homogeneity: a group of k people, who all asked for it
    and of whom that is known to be true of all or of not all. Either way k - 1 others hold what
    the victim holds or not; ZEALOUS cannot tell accounts from people.

    Privacy claim: none; synthetic data.
    """
    if setting.method == ZEALOUS:
        return _against_zealous(setting)
    town, k = draw_town(rng=rng), setting.min_users
    publish, trace = _publisher(setting.method, k, rng)
    if setting.kind == ACTIVE:
        guilty = replace_histories(town, [_VICTIM], [[_SECRET]])
        outcome = active_attack(publish, town, guilty, [[_SECRET]], trace, k - 1)
        return {"advantage": outcome.advantage}
    outcomes = homogeneity_attack(publish, town, range(k), [[_SECRET]], trace, k)
    return {"advantage": min(outcome.advantage for outcome in outcomes)}


def _against_zealous(setting: ZealousSetting) -> Measured:
    """Compute the advantage from the law of the noise, and that with the best number of others."""
    mechanism = setting.mechanism(N_PEOPLE)
    best = publication_attack(mechanism, mechanism.threshold)
    return {
        "advantage": publication_attack(mechanism, setting.min_users - 1).advantage,
        "best_advantage": best.advantage,
        "allowed_advantage": min(best.limit(setting.budget), 1.0),
        "second_threshold": float(mechanism.threshold),
    }


def _publisher(
    method: str, k: int, rng: np.random.Generator
) -> tuple[Callable[[SearchLog], AbstractSet[Hashable]], Hashable]:
    """Return how a baseline publishes, and what the attacker looks for in it."""
    if method == K_QUERY:
        return lambda log: shown_items(anonymise_queries(log, k, rng=rng)), _SECRET
    if method == K_SESSION:
        secret = frozenset(_SECRET_WORDS)
        return lambda log: shown_sets(anonymise_sessions(log, k, rng=rng)), secret
    leaves = KeywordTree(len(str(max(_SECRET_WORDS)))).leaves(list(_SECRET_WORDS))
    nodes = frozenset(leaves.tolist())
    return lambda log: shown_sets(anonymise_keywords(log, k, rng=rng)), nodes


def draw_town(*, rng: np.random.Generator) -> SearchLog:
    """Draw what people of a town search for in two sessions; nobody asks for the secret."""
    # Half of the ordinary queries have two words, which others share.
    sizes = np.append(1 + np.arange(_N_ORDINARY) % 2, len(_SECRET_WORDS))
    ordinary = np.arange(int(sizes[:-1].sum())) % _N_ORDINARY
    words = QueryWords(np.append(0, np.cumsum(sizes)), np.append(ordinary, _SECRET_WORDS))
    is_alike = np.arange(N_PEOPLE) >= N_PEOPLE - N_PEOPLE // 3
    lengths = np.where(is_alike[:, None], [2, 1], rng.integers(1, 4, (N_PEOPLE, 2))).ravel()
    users = np.repeat(np.repeat(np.arange(N_PEOPLE), 2), lengths)
    sessions = np.repeat(np.tile([0, 1], N_PEOPLE), lengths)
    queries: IntArray = rng.integers(0, _N_USUAL, len(users))
    queries[is_alike[users]] = np.tile([0, 1, 2], int(is_alike.sum()))
    nothing = np.full(len(users), -1)
    seconds = sessions * (SESSION_GAP_SECONDS + 1)
    return SearchLog(users, seconds, queries, nothing, N_PEOPLE, 1, words)
