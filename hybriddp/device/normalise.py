"""Which texts count as the same query or url: one rule for curator and devices.

Standard library only. A faster kernel may stand in for these functions on ASCII text, where the
rule is short: A-Z become a-z (queries only), and the ten characters of ASCII_WHITE_SPACE are the
white space. All other text goes through these functions.
"""

import re
import unicodedata
from collections.abc import Callable, Sequence

from hybriddp.device.canonical import REMEDY
from hybriddp.errors import require

# The name of the rule, published with every list. Another rule needs another name.
NORMALISATION = "nfc-lower-space-1"

# What str.split() and str.strip() take for white space in ASCII. The four separators 1C to 1F
# belong to it, though a regular expression's \s for bytes or for ASCII leaves them out.
ASCII_WHITE_SPACE = "\t\n\x0b\x0c\r\x1c\x1d\x1e\x1f "

# No character, which no UTF-8 file can hold.
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


def normalise_query(text: str) -> str:
    """Return the query in NFC and lower case, with single spaces inside and none around."""
    lower = unicodedata.normalize("NFC", text).lower()
    # Lower case can break NFC: J with a caron is two characters, j with a caron is one.
    return unicodedata.normalize("NFC", " ".join(lower.split()))


def normalise_url(text: str) -> str:
    """Return the url in NFC without white space around it; case matters in a url."""
    return unicodedata.normalize("NFC", text).strip()


def check_texts(name: str, texts: Sequence[str], rule: Callable[[str], str]) -> None:
    """See that texts are different, and as the rule writes them."""
    require(
        all(isinstance(t, str) and rule(t) == t and not _LONE_SURROGATE.search(t) for t in texts),
        f"{name} must be texts normalised by {NORMALISATION}",
        "another",
        f"normalise them with hybriddp.device.normalise, or {REMEDY}",
    )
    require(len(set(texts)) == len(texts), f"{name} must be different", "one twice", REMEDY)
