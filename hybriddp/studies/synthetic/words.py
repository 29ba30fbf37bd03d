"""The words of synthetic searches: how frequent, how related, how misspelled, in which documents.

A word is a number. The first words are names of sites, which people type to get there; the others
stand in the order of how often they are searched. Behind all of them stand their misspellings.
"""

from dataclasses import dataclass

import numpy as np

from hybriddp.arrays import BoolArray, FloatArray, IntArray
from hybriddp.errors import require

# One of so many right words is the name of a site.
WORDS_PER_SITE_NAME = 1_600
# Neighbours are related: so many right words are a topic.
WORDS_PER_TOPIC = 8
# Whatever the word, the first others of its topic are its likeliest substitutes.
_RELATED_EXPONENT = 1.5

# ZEAL Table 3: when each user gives one word, 66 % of them are one of 6,667 words. There are about
# a million (ZEAL section 7), so what follows is long and thin. The law bends behind one in 250
# words, and again behind one in 25.
_WORD_BENDS = (250, 25)
_WORD_EXPONENTS = (0.8, 1.1, 1.15)

# Documents fall more slowly than searches and scatter widely, for people do not write about what
# they search. ZEAL does not say how large its index was. These numbers were chosen so that 1 GB of
# posting lists, picked by a log of 100,000 users, answers 0.37 of its look-ups; ZEAL section 8.2
# has 0.33 to 0.36 for published histograms. Few misspellings get into a document.
N_DOCUMENTS = 20_000_000
_MOST_DOCUMENTS = 5e6
_DOCUMENTS_EXPONENT = 0.6
_DOCUMENTS_SIGMA = 1.2
_MISSPELLED_DOCUMENTS = 0.01


def zipf_ranks(uniforms: FloatArray, n_ranks: IntArray, exponent: float) -> IntArray:
    """Return a rank below n_ranks for each number of [0, 1), rank k with density (k + 1)^-exponent.

    The law is the continuous one on [1, n_ranks + 1), cut into pieces of length one: it needs no
    table, though each row may have n_ranks of its own. The exponent must not be 1.

    Privacy claim: none; synthetic data.
    """
    power = 1 - exponent
    points = (1 + uniforms * ((n_ranks + 1.0) ** power - 1)) ** (1 / power)
    # Rounding can reach the end of the interval.
    return np.minimum(points.astype(np.int64) - 1, n_ranks - 1)


@dataclass(frozen=True, slots=True)
class BrokenPowerLaw:
    """Ranks from 0 whose density falls continuously, with another exponent behind each bend.

    Two laws with the same bends and exponents have the same shape, whatever their size.
    """

    n_ranks: int
    bends: tuple[int, ...]  # descending; the law bends at the ranks n_ranks / bends
    exponents: tuple[float, ...]  # one more than bends; none is 1

    def sample(self, n: int, *, rng: np.random.Generator) -> IntArray:
        """Draw n ranks."""
        edges = 1 + self.n_ranks / np.array([np.inf, *self.bends, 1])
        powers = 1 - np.array(self.exponents)
        # What a piece is multiplied by, so that it begins as high as the one before ends.
        heights = np.cumprod(np.append(1.0, edges[1:-1] ** -np.diff(powers)))
        starts, ends = edges[:-1] ** powers, edges[1:] ** powers
        masses = heights * (ends - starts) / powers
        befores = np.cumsum(masses) - masses
        uniforms = rng.random(n) * masses.sum()
        pieces = np.searchsorted(befores[1:], uniforms, side="right")
        # Inside its piece a number becomes a rank as in zipf_ranks.
        points = (uniforms - befores[pieces]) * (powers / heights)[pieces]
        points += starts[pieces]
        points **= (1 / powers)[pieces]
        ranks: IntArray = np.minimum(points.astype(np.int64) - 1, self.n_ranks - 1)
        return ranks


@dataclass(frozen=True, slots=True, eq=False)
class Vocabulary:
    """Right words and, in the same order, one misspelling of each."""

    n_right: int
    document_counts: IntArray  # (n_words,): how many documents hold each word

    @property
    def n_words(self) -> int:
        """How many words there are, misspellings included."""
        return 2 * self.n_right

    @property
    def n_site_names(self) -> int:
        """How many of the first words are names of sites."""
        return self.n_right // WORDS_PER_SITE_NAME

    def is_misspelled(self, words: IntArray) -> BoolArray:
        """Return which words are misspellings.

        Privacy claim: none; synthetic data.
        """
        return words >= self.n_right

    def misspelled(self, words: IntArray) -> IntArray:
        """Return how each of these right words is misspelled.

        Privacy claim: none; synthetic data.
        """
        return words + self.n_right

    def corrected(self, words: IntArray) -> IntArray:
        """Return each word as it should have been spelled.

        Privacy claim: none; synthetic data.
        """
        return words % self.n_right

    def topics(self, words: IntArray) -> IntArray:
        """Return the topic of each word; a misspelled word has that of the right one.

        Privacy claim: none; synthetic data.
        """
        return self.corrected(words) // WORDS_PER_TOPIC

    def related(self, words: IntArray, *, rng: np.random.Generator) -> IntArray:
        """Draw another right word of the same topic for each of these right words.

        Privacy claim: none; synthetic data.
        """
        n_others = np.array(WORDS_PER_TOPIC - 1)
        others = words // WORDS_PER_TOPIC * WORDS_PER_TOPIC
        others += zipf_ranks(rng.random(len(words)), n_others, _RELATED_EXPONENT)
        return others + (others >= words)

    def sample(self, n: int, *, rng: np.random.Generator) -> IntArray:
        """Draw n right words as people search them, names of sites left out."""
        law = BrokenPowerLaw(self.n_right - self.n_site_names, _WORD_BENDS, _WORD_EXPONENTS)
        return self.n_site_names + law.sample(n, rng=rng)


def draw_vocabulary(n_right: int, *, rng: np.random.Generator) -> Vocabulary:
    """Draw a vocabulary of so many right words and their misspellings."""
    require(
        n_right >= WORDS_PER_TOPIC and n_right % WORDS_PER_TOPIC == 0,
        f"n_right must be a positive multiple of {WORDS_PER_TOPIC}",
        n_right,
        "round it",
    )
    n_names = n_right // WORDS_PER_SITE_NAME
    ranks = 1.0 + np.append(np.arange(n_names), np.arange(n_right - n_names))
    documents = _MOST_DOCUMENTS * ranks**-_DOCUMENTS_EXPONENT
    documents *= rng.lognormal(0, _DOCUMENTS_SIGMA, n_right)
    documents = np.append(documents, documents * _MISSPELLED_DOCUMENTS)
    return Vocabulary(n_right, np.ceil(np.minimum(documents, N_DOCUMENTS)).astype(np.int64))
