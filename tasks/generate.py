"""Write a synthetic search log as text: Parquet, or TSV in the format of AOL's log.

Queries and urls are spelled from their numbers by two lookups in small tables of syllables and
one join, for a whole batch at a time.
"""

import gzip
import itertools
import os
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet as pq

from hybriddp.errors import require
from hybriddp.populations import IntArray, Population, study_rng
from hybriddp.synthetic_log import LogBatch, RecordsPerUser, sample_log

SCHEMA = pa.schema(
    [
        pa.field("AnonID", pa.int64(), nullable=False),
        pa.field("Query", pa.string(), nullable=False),
        pa.field("QueryTime", pa.timestamp("s"), nullable=False),
        pa.field("ItemRank", pa.int16()),
        pa.field("ClickURL", pa.string()),
    ]
)

# JPC19 figure 9: AOL's nine most frequent queries, and the site each of them looks for.
NAMED_QUERIES = (
    ("google", "http://www.google.com"),
    ("yahoo", "http://www.yahoo.com"),
    ("google.com", "http://www.google.com"),
    ("myspace.com", "http://www.myspace.com"),
    ("mapquest", "http://www.mapquest.com"),
    ("yahoo.com", "http://www.yahoo.com"),
    ("www.google.com", "http://www.google.com"),
    ("myspace", "http://www.myspace.com"),
    ("ebay", "http://www.ebay.com"),
)

# The log starts when AOL's did, 2006-03-01 00:00:00 UTC, in seconds since 1970.
LOG_START = 1_141_171_200
# AOL's ids start at 142 and have gaps; so do ours, and they are nobody's position in the file.
FIRST_ANON_ID, ANON_ID_STEP = 142, 37

# One or more consonants and one vowel: however syllables are strung together, they can be read
# off again, so different numbers never give the same text.
SYLLABLES = tuple(
    consonants + vowel
    for consonants in "b br c d f g h l m n p r s st t v".split()
    for vowel in "aeio"
)
STEMS = tuple(map("".join, itertools.product(SYLLABLES, repeat=2)))
# What follows the stem of a query or a url; its first syllable decides the form.
QUERY_ENDINGS = (" {}{}", "n {}{}", "{}{}", "s {}{}", " in {}{}", "{} {}", " {}{}s", "{}{}.com")
URL_ENDINGS = ("{}{}.com", "{}{}.com", "{}-{}.com", "{}{}.com", "{}{}.org", "{}{}.com")
# Texts are a stem and an ending: 64^2 times 64^2 of them.
N_TEXTS = len(STEMS) ** 2
# Odd, so that multiplying by it permutes the numbers below N_TEXTS; neighbours look unrelated.
SCRAMBLE = 10_368_889
# Between the sites of one query's urls. Prime, so that no two urls of a query share a site.
SITE_STEP = 104_729


@dataclass(frozen=True, slots=True)
class LogSummary:
    """What was written."""

    rows: int
    users: int
    bytes: int


@dataclass(frozen=True, slots=True)
class _Speller:
    """Turns numbers below N_TEXTS into different texts; some numbers have a text of their own."""

    stems: pa.StringArray  # len(STEMS) stems, then the special texts
    endings: pa.StringArray  # len(STEMS) endings, then the empty one

    @classmethod
    def build(cls, prefix: str, forms: tuple[str, ...], special: list[str]) -> "_Speller":
        pairs = itertools.product(enumerate(SYLLABLES), SYLLABLES)
        endings = [forms[i % len(forms)].format(first, second) for (i, first), second in pairs]
        return cls(pa.array([prefix + s for s in STEMS] + special), pa.array([*endings, ""]))

    def spell(
        self, numbers: IntArray, is_special: IntArray, special: IntArray, is_null: np.ndarray | None
    ) -> pa.StringArray:
        """Spell numbers; at the positions is_special the texts numbered special instead."""
        scrambled = numbers * SCRAMBLE
        stems = (scrambled // len(STEMS)) % len(STEMS)
        endings = scrambled % len(STEMS)
        stems[is_special] = len(STEMS) + special
        endings[is_special] = len(STEMS)
        return pc.binary_join_element_wise(
            self.stems.take(pa.array(stems, mask=is_null)), self.endings.take(pa.array(endings)), ""
        )
