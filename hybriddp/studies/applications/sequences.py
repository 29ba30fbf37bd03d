"""Many short sequences of integers in two arrays, and an index that finds equal ones."""

from dataclasses import dataclass

import numpy as np

from hybriddp.arrays import IntArray


@dataclass(frozen=True, slots=True, eq=False)
class Sequences:
    """Sequences one behind the other: number i is symbols[starts[i]:starts[i+1]]."""

    starts: IntArray  # (n + 1,)
    symbols: IntArray  # (starts[-1],), not negative

    @classmethod
    def of_lengths(cls, lengths: IntArray, symbols: IntArray) -> "Sequences":
        """Cut `symbols` into sequences of these lengths.

        Privacy claim: none; the result is as private as the symbols.
        """
        return cls(np.append(0, np.cumsum(lengths)), symbols)

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def lengths(self) -> IntArray:
        """How many symbols each sequence has."""
        return np.diff(self.starts)

    def take(self, rows: IntArray) -> "Sequences":
        """Return these sequences, in this order.

        Privacy claim: none; the result is as private as the sequences.
        """
        lengths = self.lengths[rows]
        return Sequences.of_lengths(lengths, self.symbols[ranges(self.starts[rows], lengths)])


def ranges(starts: IntArray, lengths: IntArray) -> IntArray:
    """Return start, start + 1, ... of each range, one behind the other.

    Privacy claim: none; the result is as private as the ranges.
    """
    ends = np.cumsum(lengths)
    within = np.arange(int(lengths.sum())) - np.repeat(ends - lengths, lengths)
    return np.repeat(starts, lengths) + within


@dataclass(frozen=True, slots=True, eq=False)
class SequenceIndex:
    """A tree of prefixes, level by level: exact, where hashes could collide.

    A prefix of level t is a key prefix_of_level_t_minus_1 * n_symbols + symbol, numbered by its
    place among the level's sorted keys.
    """

    n_symbols: int
    levels: tuple[IntArray, ...]

    @classmethod
    def over(cls, sequences: Sequences) -> "SequenceIndex":
        """Index these sequences.

        Privacy claim: none; the result is as private as the sequences.
        """
        n_symbols = int(sequences.symbols.max(initial=0)) + 1
        lengths, levels = sequences.lengths, []
        prefix = np.zeros(len(sequences), np.int64)
        for depth in range(int(lengths.max(initial=0))):
            longer = np.flatnonzero(lengths > depth)
            symbols = sequences.symbols[sequences.starts[longer] + depth]
            keys, prefix[longer] = np.unique(
                prefix[longer] * n_symbols + symbols, return_inverse=True
            )
            levels.append(keys)
        return cls(n_symbols, tuple(levels))

    @property
    def n_numbers(self) -> int:
        """All numbers of sequences are below this one."""
        return 1 + sum(len(keys) for keys in self.levels)

    def find(self, sequences: Sequences) -> IntArray:
        """Return the number of each sequence, the same for equal ones, or -1.

        Every prefix of an indexed sequence has a number of its own, too.

        Privacy claim: none; the result is as private as the sequences.
        """
        lengths = sequences.lengths
        prefix = np.zeros(len(sequences), np.int64)
        number = np.where(lengths == 0, 0, -1)
        rows, first_number = np.flatnonzero(lengths > 0), 1
        for depth, keys in enumerate(self.levels):
            symbols = sequences.symbols[sequences.starts[rows] + depth]
            wanted = prefix[rows] * self.n_symbols + symbols
            place = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
            # A symbol beyond the index would be mistaken for another prefix's key.
            is_found = (keys[place] == wanted) & (symbols < self.n_symbols)
            rows = rows[is_found]
            prefix[rows] = place[is_found]
            ends = lengths[rows] == depth + 1
            number[rows[ends]] = first_number + prefix[rows[ends]]
            rows, first_number = rows[~ends], first_number + len(keys)
        return number
