"""Spell numbers, a whole batch at a time: two lookups in small tables of syllables, one join."""

import itertools

import pyarrow as pa
import pyarrow.compute as pc

from hybriddp.arrays import IntArray

# One or more consonants and one vowel: however syllables are strung together, they can be read
# off again, so different numbers never give the same text.
CONSONANTS = ("b", "br", "c", "d", "f", "h", "l", "m", "n", "pl", "pr", "r", "s", "st", "t", "v")
SYLLABLES = tuple(map("".join, itertools.product(CONSONANTS, "aeio")))
STEMS = tuple(map("".join, itertools.product(SYLLABLES, repeat=2)))
# A text is a stem and an ending, 12 bits of its number each.
_ENDING_BITS = 12
_ENDING_MASK = 2**_ENDING_BITS - 1
N_TEXTS = len(STEMS) << _ENDING_BITS
# Odd, so that multiplying by it permutes the numbers below N_TEXTS and neighbours look unrelated.
_SCRAMBLE = 10_368_889


class Speller:
    """Gives every number below N_TEXTS a text of its own, by two lookups and one join."""

    def __init__(self, prefix: str, forms: tuple[str, ...], named: list[str]) -> None:
        # The named texts follow the stems; their ending is the empty one after the endings.
        self._stems = pa.array([prefix + stem for stem in STEMS] + named)
        pairs = itertools.product(enumerate(SYLLABLES), SYLLABLES)
        endings = [forms[i % len(forms)].format(first, second) for (i, first), second in pairs]
        self._endings = pa.array([*endings, ""])

    def spell(self, numbers: IntArray, rows_named: IntArray, names: IntArray) -> pa.StringArray:
        """Spell numbers, -1 as null, but rows_named as the named texts with the numbers names."""
        scrambled = numbers * _SCRAMBLE
        stems = (scrambled >> _ENDING_BITS) & _ENDING_MASK
        endings = scrambled & _ENDING_MASK
        stems[rows_named] = len(STEMS) + names
        endings[rows_named] = len(STEMS)
        is_null = numbers < 0
        return pc.binary_join_element_wise(
            self._stems.take(pa.array(stems, mask=is_null)),
            self._endings.take(pa.array(endings)),
            "",
        )
