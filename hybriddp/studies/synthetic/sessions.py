"""Synthetic search logs with sessions: people who search, reformulate and click for a month.

They imitate the log of ZEAL section 7: 500,000 users of one month, about a million different
keywords, three million queries, three million query pairs and 4.5 million clicks, and 56, 20, 7
and 14 of them for each user (Table 4). What is not published is plain: no hours of the day, no
favourite topics of a person, no fashion during the month.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from hybriddp.arrays import BoolArray, IntArray
from hybriddp.errors import require
from hybriddp.studies.synthetic.queries import QueryFamilies, draw_query_families
from hybriddp.studies.synthetic.words import BrokenPowerLaw, Vocabulary, draw_vocabulary, zipf_ranks
from hybriddp.zealous.items import SESSION_GAP_SECONDS, SearchLog

N_USERS = 500_000  # of the log that is imitated: the default size of a new one
WORLD_SIZE = 1_600_000  # right words, and families of queries
SPAN_SECONDS = 30 * 24 * 3600
USERS_PER_BLOCK = 20_000

# What people want to know: as popular as ZEAL Table 3 says of queries (when each user gives one,
# 29 % of them are one of 3,334 queries), and behind it a long, almost level rest.
_FAMILY_BENDS = (800, 80)
_FAMILY_EXPONENTS = (0.84, 1.4, 0.5)

# Sessions of a user: the ceiling of a log-normal law. The limits make sure that the longest
# sessions of the busiest user fit into the month.
_SESSIONS_MEDIAN, _SESSIONS_SIGMA, MAX_SESSIONS = 7.05, 1.1, 300
_GOES_ON, MAX_QUERIES_PER_SESSION = 0.4, 12
_PAUSE_MEDIAN, _PAUSE_SIGMA, MAX_PAUSE_SECONDS = 50.0, 1.0, 600

# What follows a query inside a session: the same one, a reformulation of it, or a fresh one.
_REPEATS, _REFORMULATES = 0.22, 0.33
# Where a reformulation goes: back to what the query is an edit of, to another edit of that, or
# else on to an edit of the query. The first edits are the likeliest.
_BACK, _SIDEWAYS = 0.2, 0.2
_EDIT_EXPONENT = 0.8
# A fresh query is a family's first one, or an edit with this probability, once and again; and
# this often it is misspelled, if it ever is.
_STARTS_WITH_EDIT, _SLIPS = 0.33, 0.2

# Who types a site's name wants the site: the first url, once. Other queries have many good urls.
_SITE_CLICK, _OTHER_CLICK = 0.65, 0.44
_SITE_CLICKS_AGAIN, _OTHER_CLICKS_AGAIN = 0.1, 0.3
_SITE_EXPONENT, _OTHER_EXPONENT = 4.0, 0.5
_URLS_PER_CLICK, MAX_CLICKS = 40, 5


@dataclass(frozen=True, slots=True, eq=False)
class SessionWorld:
    """What there is to search, the same for every log that is drawn from it."""

    vocabulary: Vocabulary
    queries: QueryFamilies

    @property
    def document_counts(self) -> IntArray:
        """How many documents hold each word (for index caching, ZEAL section 8.2)."""
        return self.vocabulary.document_counts

    @property
    def n_urls(self) -> int:
        """How many urls there are."""
        return self.queries.n_families + _URLS_PER_CLICK * MAX_CLICKS

    def ranks(self, queries: IntArray, urls: IntArray) -> IntArray:
        """Return the position of each url, from 1, among the results of its query; 0 for no url.

        The url of a family stands first for all its queries, those of the next families follow.

        Privacy claim: none; the result is as private as the log.
        """
        return np.where(urls < 0, 0, urls - self.queries.families[queries] + 1)

    def draw_log(self, n_users: int, *, rng: np.random.Generator) -> SearchLog:
        """Draw the log of n_users users, all of whom search."""
        blocks = list(self.draw_blocks(n_users, rng=rng))
        return SearchLog(
            users=np.concatenate([block.users for block in blocks]),
            seconds=np.concatenate([block.seconds for block in blocks]),
            queries=np.concatenate([block.queries for block in blocks]),
            urls=np.concatenate([block.urls for block in blocks]),
            n_users=n_users,
            n_urls=self.n_urls,
            words=self.queries.words,
        )

    def draw_blocks(self, n_users: int, *, rng: np.random.Generator) -> Iterator[SearchLog]:
        """Yield the same log in blocks of whole users, in bounded memory."""
        require(n_users >= 1, "n_users must be >= 1", n_users, "ask for at least one user")
        # Not a generator itself, so that a bad argument fails here and not at the first block.
        return (
            self._block(first, min(USERS_PER_BLOCK, n_users - first), n_users, rng)
            for first in range(0, n_users, USERS_PER_BLOCK)
        )

    def _block(
        self, first_user: int, n_block: int, n_users: int, rng: np.random.Generator
    ) -> SearchLog:
        users = np.repeat(np.arange(n_block), _draw_session_counts(n_block, rng))
        lengths = rng.geometric(1 - _GOES_ON, len(users))
        lengths = np.minimum(lengths, MAX_QUERIES_PER_SESSION)
        queries = _draw_queries(self.queries, lengths, rng)
        seconds = _draw_seconds(users, lengths, rng)
        families = self.queries.families[queries]
        rows, urls = _draw_clicks(families, families < self.vocabulary.n_site_names, rng)
        return SearchLog(
            first_user + np.repeat(users, lengths)[rows],
            seconds[rows],
            queries[rows],
            urls,
            n_users,
            self.n_urls,
            self.queries.words,
        )


def draw_session_world(*, rng: np.random.Generator, size: int = WORLD_SIZE) -> SessionWorld:
    """Draw a world; the default size is what ZEAL's numbers ask for, and takes some seconds.

    A world of a tenth of the size has the same shape: each user finds as many different things,
    and a tenth of the users find a tenth of them.
    """
    vocabulary = draw_vocabulary(size, rng=rng)
    return SessionWorld(vocabulary, draw_query_families(size, vocabulary, rng=rng))


def draw_session_log(
    n_users: int, *, rng: np.random.Generator, world_size: int = WORLD_SIZE
) -> SearchLog:
    """Draw a world and the log of n_users users in it."""
    require(n_users >= 1, "n_users must be >= 1", n_users, "ask for at least one user")
    return draw_session_world(rng=rng, size=world_size).draw_log(n_users, rng=rng)


def _draw_session_counts(n_users: int, rng: np.random.Generator) -> IntArray:
    counts = np.ceil(rng.lognormal(np.log(_SESSIONS_MEDIAN), _SESSIONS_SIGMA, n_users))
    return np.minimum(counts, MAX_SESSIONS).astype(np.int64)


def _draw_queries(world: QueryFamilies, lengths: IntArray, rng: np.random.Generator) -> IntArray:
    """Draw the queries of sessions of these lengths, one session behind the other."""
    queries = np.empty(lengths.sum(), np.int64)
    places = np.cumsum(lengths) - lengths
    newest = _draw_fresh(world, len(lengths), rng)
    queries[places] = newest
    for n_before in range(1, MAX_QUERIES_PER_SESSION):
        goes_on = lengths > n_before
        lengths, places, newest = lengths[goes_on], places[goes_on], newest[goes_on]
        newest = _draw_next(world, newest, rng)
        queries[places + n_before] = newest
    return queries


def _draw_fresh(world: QueryFamilies, n: int, rng: np.random.Generator) -> IntArray:
    law = BrokenPowerLaw(world.n_families, _FAMILY_BENDS, _FAMILY_EXPONENTS)
    queries = law.sample(n, rng=rng)
    for _ in range(2):
        rows = np.flatnonzero((rng.random(n) < _STARTS_WITH_EDIT) & (world.n_edits[queries] > 0))
        queries[rows] = _draw_edits(world, queries[rows], rng)
    rows = np.flatnonzero((rng.random(n) < _SLIPS) & (world.misspelled[queries] >= 0))
    queries[rows] = world.misspelled[queries[rows]]
    return queries


def _draw_edits(world: QueryFamilies, queries: IntArray, rng: np.random.Generator) -> IntArray:
    """Draw an edit of each of these queries, which have some."""
    places = zipf_ranks(rng.random(len(queries)), world.n_edits[queries], _EDIT_EXPONENT)
    return world.first_edits[queries] + places


def _draw_next(world: QueryFamilies, queries: IntArray, rng: np.random.Generator) -> IntArray:
    following = queries.copy()
    choice = rng.random(len(queries))
    is_reformulated = (choice >= _REPEATS) & (choice < _REPEATS + _REFORMULATES)
    rows = np.flatnonzero(is_reformulated)
    following[rows] = _draw_reformulations(world, queries[rows], rng)
    # Where there is no other query to go to, a fresh one follows too.
    is_fresh = (choice >= _REPEATS + _REFORMULATES) | (is_reformulated & (following == queries))
    fresh = np.flatnonzero(is_fresh)
    following[fresh] = _draw_fresh(world, len(fresh), rng)
    return following


def _draw_reformulations(
    world: QueryFamilies, queries: IntArray, rng: np.random.Generator
) -> IntArray:
    """Draw a related query for each, or the query itself where none is found."""
    choice = rng.random(len(queries))
    has_parent = world.parents[queries] >= 0
    # Nobody can go on from a query without edits: then all go back or sideways.
    widening = np.where(world.n_edits[queries] > 0, 1.0, 1 / (_BACK + _SIDEWAYS))
    is_back = has_parent & (choice < _BACK * widening)
    is_back |= queries >= world.n_right  # a misspelled query is corrected
    is_sideways = has_parent & ~is_back & (choice < (_BACK + _SIDEWAYS) * widening)
    targets = np.where(is_back | is_sideways, world.parents[queries], queries)
    goes_on = np.flatnonzero(~is_back & (world.n_edits[targets] > 0))
    targets[goes_on] = _draw_edits(world, targets[goes_on], rng)
    return targets


def _draw_seconds(users: IntArray, lengths: IntArray, rng: np.random.Generator) -> IntArray:
    """Draw when each query was asked, for sessions of these users and lengths."""
    ends = np.cumsum(lengths)
    pauses = np.ceil(rng.lognormal(np.log(_PAUSE_MEDIAN), _PAUSE_SIGMA, ends[-1]))
    pauses = np.minimum(pauses, MAX_PAUSE_SECONDS).astype(np.int64)
    pauses[ends - lengths] = 0
    # Seconds since the start of the session, and how long each session lasts.
    elapsed = np.cumsum(pauses)
    elapsed -= np.repeat(elapsed[ends - lengths], lengths)
    taken = elapsed[ends - 1] + SESSION_GAP_SECONDS + 1
    # What sessions and the pauses between them leave of the month is cut at random points.
    before = np.cumsum(taken) - taken
    first_sessions = np.searchsorted(users, users)
    free = SPAN_SECONDS - np.bincount(users, taken)[users]
    points = np.sort(users + rng.random(len(users))) - users
    starts: IntArray = (points * free).astype(np.int64) + before - before[first_sessions]
    return elapsed + np.repeat(starts, lengths)


def _draw_clicks(
    families: IntArray, is_site: BoolArray, rng: np.random.Generator
) -> tuple[IntArray, IntArray]:
    """Draw the rows of queries of these families: a row for each click, or one without.

    Returns which query each row belongs to, and its url.
    """
    n_clicks = rng.geometric(1 - np.where(is_site, _SITE_CLICKS_AGAIN, _OTHER_CLICKS_AGAIN))
    n_clicks = np.minimum(n_clicks, MAX_CLICKS)
    n_clicks[rng.random(len(families)) >= np.where(is_site, _SITE_CLICK, _OTHER_CLICK)] = 0
    n_rows = np.maximum(n_clicks, 1)
    rows = np.repeat(np.arange(len(families)), n_rows)
    steps = np.empty(len(rows), np.int64)
    for of_site, exponent in ((True, _SITE_EXPONENT), (False, _OTHER_EXPONENT)):
        chosen = np.flatnonzero(is_site[rows] == of_site)
        uniforms = rng.random(len(chosen))
        steps[chosen] = 1 + zipf_ranks(uniforms, np.array(_URLS_PER_CLICK), exponent)
    # Down the page: a second click goes below the first.
    depths = np.cumsum(steps)
    firsts = (np.cumsum(n_rows) - n_rows)[rows]
    depths -= depths[firsts] - steps[firsts]
    return rows, np.where(n_clicks[rows] > 0, families[rows] + depths - 1, -1)
