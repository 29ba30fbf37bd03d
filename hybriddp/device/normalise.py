"""Which texts count as the same query or url: one rule for curator and devices.

Standard library only. A faster kernel may stand in for these functions on ASCII text, where the
rule is short: A-Z become a-z (queries only), and the ten characters of ASCII_WHITE_SPACE are the
white space. All other text goes through these functions.
"""

import unicodedata

# The name of the rule, published with every list. Another rule needs another name.
NORMALISATION = "nfc-lower-space-1"

# What str.split() and str.strip() take for white space in ASCII. The four separators 1C to 1F
# belong to it, though a regular expression's \s for bytes or for ASCII leaves them out.
ASCII_WHITE_SPACE = "\t\n\x0b\x0c\r\x1c\x1d\x1e\x1f "


def normalise_query(text: str) -> str:
    """Return the query in NFC and lower case, with single spaces inside and none around."""
    lower = unicodedata.normalize("NFC", text).lower()
    # Lower case can break NFC: J with a caron is two characters, j with a caron is one.
    return unicodedata.normalize("NFC", " ".join(lower.split()))


def normalise_url(text: str) -> str:
    """Return the url in NFC without white space around it; case matters in a url."""
    return unicodedata.normalize("NFC", text).strip()
