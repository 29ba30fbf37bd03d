"""k-keyword anonymity by generalisation (ZEAL section 3; He, Naughton): NOT differentially private.

A baseline for comparison, like those of `hybriddp.studies.attacks.anonymity`.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hybriddp.arrays import BoolArray, IntArray
from hybriddp.studies.attacks.anonymity import AnonymousLog, require_crowd
from hybriddp.zealous.item_kinds import KEYWORDS
from hybriddp.zealous.items import SearchLog, UserItems, items_of

# The kind of histogram that also counts what was published of a keyword in part.
GENERALISED_KEYWORDS = "generalised keywords"

# Ten digits fit as many bits of one integer, which makes sets of children exact and fast.
_BASE = 10


@dataclass(frozen=True, slots=True)
class KeywordTree:
    """Keywords below the prefixes of their numbers: 0042 below 004*, 00*, 0* and the root *.

    He, Naughton take a taxonomy and ZEAL prefixes of the keyword's text; in memory a keyword is a
    number, and its digits are the path. Nodes are numbered level by level from the root, 0, so
    the children of node v are 10 v + 1 to 10 v + 10.
    """

    n_digits: int

    @classmethod
    def of(cls, log: SearchLog) -> "KeywordTree":
        """Return the lowest tree for every keyword that could be asked, whether it was or not.

        Privacy claim: none; the vocabulary is public.
        """
        return cls(len(str(int(log.words.words.max(initial=0)))))

    def level_of(self, nodes: npt.ArrayLike) -> IntArray:
        """Return how many digits are known at each node."""
        firsts = [(_BASE**level - 1) // (_BASE - 1) for level in range(self.n_digits + 1)]
        return np.searchsorted(firsts, nodes, side="right") - 1

    def leaves(self, words: npt.ArrayLike) -> IntArray:
        """Return the nodes of whole keywords."""
        first: int = (_BASE**self.n_digits - 1) // (_BASE - 1)
        leaves: IntArray = np.asarray(words) + first
        return leaves

    def next_digits(self, words: IntArray, nodes: IntArray) -> IntArray:
        """Return the digit that leads from each node towards its keyword.

        Privacy claim: none; the result is as private as the keywords.
        """
        place = self.n_digits - self.level_of(nodes) - 1
        digits: IntArray = words // _BASE**place % _BASE
        return digits

    def label(self, node: int) -> str:
        """Return the known digits of a node, with a star for what is not known."""
        level = int(self.level_of(node))
        if level == 0:
            return "*"
        digits = str(node - (_BASE**level - 1) // (_BASE - 1)).zfill(level)
        return digits if level == self.n_digits else digits + "*"


def anonymise_keywords(log: SearchLog, min_users: int, *, rng: np.random.Generator) -> AnonymousLog:
    """Generalise keywords until every user's whole set is that of `min_users` users.

    ZEAL section 3, k-keyword anonymity. From the top, as He, Naughton do it: everybody begins with
    the set {*}. A group of users with the same set opens the highest prefix of it; users who have
    the same digits below it become a group of their own, if they are enough; the others keep the
    prefix. If these are too few, the largest new group lends them some of its users, or, where it
    cannot spare them, joins them. Pseudonyms are those of whole histories.

    Differs from He, Naughton: the highest prefix is opened first, where they look for the one that
    gains most, so that all groups are opened at once and a row is sorted at most as often as its
    keyword has digits. ZEAL describes less, that each generalised keyword is held by k users,
    which follows from equal sets.

    Where fewer than `min_users` users have keywords, nothing is published.

    Privacy claim: none; k-anonymity is no differential privacy.
    """
    require_crowd(min_users)
    tree, held = KeywordTree.of(log), items_of(log, KEYWORDS)
    if len(np.unique(held.users)) < min_users:
        held = UserItems(held.users[:0], held.items[:0])
    shown = UserItems.of(held.users, _generalise(tree, held, min_users))
    is_whole = tree.level_of(shown.items) == tree.n_digits
    whole = UserItems(shown.users[is_whole], shown.items[is_whole] - tree.leaves(0))
    return AnonymousLog.shuffled(
        shown.users,
        shown.items,
        f"k-keyword anonymity: every user's keywords are those of at least {min_users} user ids",
        {KEYWORDS: whole.histogram(), GENERALISED_KEYWORDS: shown.histogram()},
        rng=rng,
    )


def _generalise(tree: KeywordTree, held: UserItems, min_users: int) -> IntArray:
    """Return the node that stands for each row's keyword."""
    node = np.zeros(len(held.users), np.int64)
    group = np.zeros(int(held.users.max(initial=-1)) + 1, np.int64)
    rows = np.arange(len(node))  # those whose node may still be opened
    while len(rows):
        # Users of one group have the same open nodes, so each user's highest is the group's.
        starts = np.flatnonzero(np.diff(held.users[rows], prepend=-1))
        highest = np.minimum.reduceat(node[rows], starts)
        of_row = np.repeat(highest, np.diff(np.append(starts, len(rows))))
        is_highest = node[rows] == of_row
        opened = rows[is_highest]
        digits = tree.next_digits(held.items[opened], node[opened])
        starts = np.flatnonzero(np.diff(held.users[opened], prepend=-1))
        users = held.users[opened[starts]]
        children = np.bitwise_or.reduceat(1 << digits, starts)
        is_apart, group[users] = _split(group[users], children, min_users)
        moves = np.repeat(is_apart, np.diff(np.append(starts, len(opened))))
        node[opened[moves]] = _BASE * node[opened[moves]] + 1 + digits[moves]
        # Who stays has too few of the same children beside them, and fewer in any later part of the
        # group (or was joined for want of others): what was not opened now is not tried again.
        is_open = ~is_highest
        is_open[is_highest] = moves & (tree.level_of(node[opened]) < tree.n_digits)
        rows = rows[is_open]
    return node


def _split(groups: IntArray, children: IntArray, min_users: int) -> tuple[BoolArray, IntArray]:
    """Return which users leave their group with those of the same children, and all new groups.

    Groups stay at or above `min_users`: those who leave together, and those who stay.
    """
    order = np.lexsort((children, groups))
    is_first = np.ones(len(order), dtype=np.bool_)
    is_first[1:] = (np.diff(groups[order]) != 0) | (np.diff(children[order]) != 0)
    starts, part = np.flatnonzero(is_first), np.cumsum(is_first) - 1
    sizes, parents = np.diff(np.append(starts, len(order))), groups[order[starts]]
    n_staying = np.where(sizes < min_users, sizes, 0)
    _, whole = np.unique(parents, return_inverse=True)
    n_left_behind = np.bincount(whole, n_staying).astype(np.int64)[whole]
    # The largest part of each group, which lends to those who are left behind and too few.
    largest = np.lexsort((-sizes, whole))
    largest = largest[np.flatnonzero(np.diff(whole[largest], prepend=-1))]
    missing = min_users - n_left_behind[largest]
    is_needed = (missing > 0) & (missing < min_users) & (sizes[largest] >= min_users)
    lender, missing = largest[is_needed], missing[is_needed]
    n_staying[lender] = np.where(sizes[lender] - missing >= min_users, missing, sizes[lender])
    place = np.arange(len(order)) - starts[part]
    is_apart, new = np.empty(len(order), dtype=np.bool_), np.empty_like(groups)
    is_apart[order] = place < (sizes - n_staying)[part]
    new[order] = np.where(is_apart[order], int(groups.max()) + 1 + part, groups[order])
    return is_apart, new
