"""The attacks on anonymous search logs (ZEAL section 3.2), against any publisher.

An attacker looks at what is published and concludes that somebody searched for something, or does
not. What counts is how much more often they do where it is true: their advantage, 1 if they always
know, 0 if they need not look. Against ZEALOUS it is computed from the law of the noise.
"""

import math
from collections.abc import Callable, Hashable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import reduce
from typing import Protocol

import numpy as np

from hybriddp.arrays import FloatArray, IntArray
from hybriddp.errors import require, require_count
from hybriddp.noise.laplace import DiscreteLaplace
from hybriddp.params import Budget
from hybriddp.studies.attacks.anonymity import AnonymousLog
from hybriddp.zealous.items import SESSION_GAP_SECONDS, SearchLog

# What an attacker can look for: numbers of queries, sets of keywords, or the like.
Publisher = Callable[[SearchLog], AbstractSet[Hashable]]
History = Sequence[Sequence[int]]  # sessions of queries, in the order of time

_MAX_CHANGED_ITEMS = 10  # 3^10 joint outcomes


@dataclass(frozen=True, slots=True)
class AttackOutcome:
    """How often an attacker concludes that the victim did it, in each of the two worlds."""

    p_if_guilty: float
    p_if_innocent: float

    @property
    def advantage(self) -> float:
        """How much the conclusion depends on the truth, in whichever direction."""
        return abs(self.p_if_guilty - self.p_if_innocent)

    def limit(self, budget: Budget) -> float:
        """Return the largest advantage that (epsilon, delta)-indistinguishability allows here.

        The likelier world's P is at most e^epsilon p + delta, where p is the other's.
        """
        p = min(self.p_if_guilty, self.p_if_innocent)
        return math.expm1(budget.epsilon) * p + float(budget.delta)


def replace_histories(log: SearchLog, users: Sequence[int], history: History) -> SearchLog:
    """Return the log in which these users searched for this and nothing else.

    Privacy claim: none; for studies and tests, whose data is synthetic.
    """
    require(
        all(0 <= user < log.n_users for user in users),
        "users must be some of the log's",
        "another number",
        f"give numbers from 0 to {log.n_users - 1}",
    )
    return _append(log.keep(~np.isin(log.users, users)), users, history, log.n_users)


def add_accounts(log: SearchLog, n_accounts: int, history: History) -> SearchLog:
    """Return the log after somebody opened accounts that all search for the same.

    Privacy claim: none; for studies and tests, whose data is synthetic.
    """
    n_users = log.n_users + n_accounts
    return _append(log, range(log.n_users, n_users), history, n_users)


def active_attack(
    publish: Publisher,
    innocent: SearchLog,
    guilty: SearchLog,
    copied: History,
    trace: Hashable,
    n_accounts: int,
    n_rounds: int = 1,
) -> AttackOutcome:
    """Play ZEAL Example 2: fake accounts copy what the victim is suspected of.

    The logs differ in the victim only. The attacker concludes that the victim did it if the trace
    is published. A publisher without noise needs one round.

    Privacy claim: none; for studies and tests, whose data is synthetic.
    """
    worlds = (add_accounts(log, n_accounts, copied) for log in (guilty, innocent))
    return AttackOutcome(*(_frequency(trace, publish, world, n_rounds) for world in worlds))


def homogeneity_attack(
    publish: Publisher,
    log: SearchLog,
    group: Sequence[int],
    sensitive: History,
    trace: Hashable,
    proven_users: int,
    n_rounds: int = 1,
) -> list[AttackOutcome]:
    """Play ZEAL Example 1: nobody but a known group could have searched for it, and all did.

    The attacker takes a publication as proof that this many users did it. If that is the whole
    group, each of them did; if it is fewer, nothing is certain of anybody. The outcome for each
    member compares with the log in which this one searched for what `log` says.

    Privacy claim: none; for studies and tests, whose data is synthetic.
    """

    def concludes(members: Sequence[int]) -> float:
        if proven_users < len(group):
            return 0.0
        world = replace_histories(log, members, sensitive)
        return _frequency(trace, publish, world, n_rounds)

    if_all = concludes(group)
    return [AttackOutcome(if_all, concludes([m for m in group if m != own])) for own in group]


def shown_items(anonymous: AnonymousLog) -> frozenset[int]:
    """Return what an attacker finds in the rows one by one.

    Privacy claim: none; the result is as private as the anonymous log, which is not private.
    """
    return frozenset(np.unique(anonymous.items).tolist())


def shown_sets(anonymous: AnonymousLog) -> frozenset[frozenset[int]]:
    """Return the different sets of items that pseudonyms show; for small logs.

    Privacy claim: none; the result is as private as the anonymous log, which is not private.
    """
    starts = np.flatnonzero(np.diff(anonymous.pseudonyms, prepend=-1))
    sets = np.split(anonymous.items, starts[1:]) if len(starts) else []
    return frozenset(frozenset(items.tolist()) for items in sets)


class NoisyThresholds(Protocol):
    """Steps 3 to 5 of ZEALOUS (ZEAL section 5) with integer noise, of any mechanism that has them.

    A count below the first threshold (tau) is dropped, noise is added, and a noisy count that does
    not exceed the other threshold (tau') is dropped.
    """

    @property
    def noise(self) -> DiscreteLaplace: ...
    @property
    def first_threshold(self) -> int: ...
    @property
    def threshold(self) -> int: ...


def publication_attack(mechanism: NoisyThresholds, n_others: int) -> AttackOutcome:
    """Return exactly what concluding from an item's publication gives against ZEALOUS.

    So many others have the item, fake accounts among them, and the victim has it or not. What a
    user has is taken to be selected in step 1, which is the attacker's best case.
    """
    counts = np.array([n_others + 1, n_others])
    return AttackOutcome(*_p_above(mechanism, counts, mechanism.threshold).tolist())


def best_attack(
    mechanism: NoisyThresholds, innocent_counts: IntArray, guilty_counts: IntArray
) -> AttackOutcome:
    """Return exactly what the best conclusion from all noisy counts gives against ZEALOUS.

    Its advantage is the total variation distance, so no conclusion has a larger one.

    Privacy claim: none; the result is as private as the counts.
    """
    innocent, guilty = outcome_laws(mechanism, innocent_counts, guilty_counts)
    is_likelier = guilty > innocent
    return AttackOutcome(float(guilty[is_likelier].sum()), float(innocent[is_likelier].sum()))


def outcome_laws(
    mechanism: NoisyThresholds, innocent_counts: IntArray, guilty_counts: IntArray
) -> tuple[FloatArray, FloatArray]:
    """Return the probabilities, in both worlds, of everything that an attacker can tell apart.

    Counts of the items that the victim may have; one user moves each by one at most. With c the
    smaller count of an item, noisy counts above c have one likelihood ratio, those up to c
    another, and so has silence: more than these three outcomes an item cannot tell.

    Privacy claim: none; the result is as private as the counts.
    """
    require(
        innocent_counts.shape == guilty_counts.shape
        and len(innocent_counts) <= _MAX_CHANGED_ITEMS
        and int(np.abs(guilty_counts - innocent_counts).max(initial=0)) <= 1,
        f"counts must be those of at most {_MAX_CHANGED_ITEMS} items in logs that differ in a user",
        f"{len(innocent_counts)} and {len(guilty_counts)} counts",
        "compare neighbouring logs",
    )
    splits = np.maximum(np.minimum(innocent_counts, guilty_counts), mechanism.threshold)
    laws = []
    for counts in (innocent_counts, guilty_counts):
        published = _p_above(mechanism, counts, mechanism.threshold)
        high = _p_above(mechanism, counts, splits)
        items = np.stack((high, published - high, 1 - published), axis=-1)
        laws.append(reduce(lambda law, item: np.outer(law, item).reshape(-1), items, np.ones(1)))
    return laws[0], laws[1]


def _p_above(mechanism: NoisyThresholds, counts: IntArray, bound: IntArray | int) -> FloatArray:
    """Return how likely items are published with noisy counts above a bound."""
    passes = mechanism.noise.tail(bound + 1 - counts)
    return np.where(counts >= mechanism.first_threshold, passes, 0.0)


def _frequency(trace: Hashable, publish: Publisher, log: SearchLog, n_rounds: int) -> float:
    require_count(n_rounds, "n_rounds")
    return sum(trace in publish(log) for _ in range(n_rounds)) / n_rounds


def _append(log: SearchLog, users: Sequence[int], history: History, n_users: int) -> SearchLog:
    """Add the same rows for each of these users, who have none."""
    sizes = [len(session) for session in history]
    queries = np.array([query for session in history for query in session], dtype=np.int64)
    seconds = np.repeat(np.arange(len(sizes)) * (SESSION_GAP_SECONDS + 1), sizes)
    all_users = np.append(log.users, np.repeat(np.array(users, dtype=np.int64), len(queries)))
    order = np.argsort(all_users, kind="stable")
    return SearchLog(
        all_users[order],
        np.append(log.seconds, np.tile(seconds, len(users)))[order],
        np.append(log.queries, np.tile(queries, len(users)))[order],
        np.append(log.urls, np.full(len(queries) * len(users), -1))[order],
        n_users,
        log.n_urls,
        log.words,
    )
