"""One rule says which texts are the same, on devices and at the curator's."""

import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybriddp.client import Client
from hybriddp.device.normalise import ASCII_WHITE_SPACE, normalise_query, normalise_url
from hybriddp.params import BlenderParams

# Letters whose lower case or composition is not one character for one, and all kinds of space.
TRICKY = st.text(
    st.sampled_from("aJ\u030c\u0307\u0323\u0130\u03a3\u212a\u1e9e\u0345\u1fb3\u2000\u3000\x1f\t ")
)


@pytest.mark.parametrize(
    ("text", "query", "url"),
    [
        ("  New\tYork \n", "new york", "New\tYork"),
        ("A\x1cB\x0bC", "a b c", "A\x1cB\x0bC"),
        ("Cafe\u0301", "caf\u00e9", "Caf\u00e9"),
        ("\u00a0a\u2003b\u3000", "a b", "a\u2003b"),
        ("J\u030c", "\u01f0", "J\u030c"),  # only the small letter is one character
        ("\u212a", "k", "K"),  # the Kelvin sign
        ("\u039f\u03a3", "\u03bf\u03c2", "\u039f\u03a3"),  # a sigma at the end of a word
        (" \t", "", ""),
    ],
)
def test_worked_examples(text, query, url):
    assert normalise_query(text) == query
    assert normalise_url(text) == url


@given(TRICKY | st.text())
def test_normalising_twice_changes_nothing(text):
    for normalise in (normalise_query, normalise_url):
        once = normalise(text)
        assert normalise(once) == once
        assert unicodedata.is_normalized("NFC", once)


@given(st.text(st.characters(max_codepoint=127)))
def test_ascii_rule_is_short_enough_for_another_kernel(text):
    """What the module says of ASCII, written down a second time."""
    spaces = re.escape(ASCII_WHITE_SPACE)
    lower = "".join(chr(ord(c) + 32) if "A" <= c <= "Z" else c for c in text)
    assert normalise_query(text) == re.sub(f"[{spaces}]+", " ", lower).strip(" ")
    assert normalise_url(text) == re.sub(f"^[{spaces}]+|[{spaces}]+\\Z", "", text)


def test_ascii_white_space_is_that_of_split():
    assert [c for c in map(chr, range(128)) if not c.split()] == sorted(ASCII_WHITE_SPACE)


def test_client_finds_its_records_however_they_were_typed():
    """With nearly no noise: one report in e^24 differs."""
    client = Client(
        {"caf\u00e9 menu": ["http://a/X"]}, BlenderParams(48, "1e-5", query_budget_fraction=0.5)
    )
    assert client.report([(" CAFE\u0301\t menu", "http://a/X\n")]) == [0]
    assert client.report([("caf\u00e9 menu", "http://a/x")]) == [1]
    assert client.report([("caf\u00e9menu", "http://a/X")]) == [2]
