"""Which ids are most likely spellings of one human, as `142` and `0142` are."""

import re
import unicodedata

import pyarrow as pa
import pyarrow.compute as pc

# Whatever one of the three below may change.
_ODD_ASCII = r"[\x00-\x20\x7f]|\.0*$|^0"
_UNSEEN_ASCII = r"[\x00-\x20\x7f]+"
_WHOLE_DECIMAL = r"^([0-9]+)\.0*$"
_LEADING_ZEROS = r"^0+([0-9]+)$"


def folded(text: str) -> str:
    """Return what spellings of one id have in common."""
    text = unicodedata.normalize("NFKC", text).casefold()
    text = unicodedata.normalize("NFKC", text)  # which folding may undo
    seen = "".join(c for c in text if not c.isspace() and unicodedata.category(c) not in _UNSEEN)
    return re.sub(_LEADING_ZEROS, r"\1", re.sub(_WHOLE_DECIMAL, r"\1", seen))


_UNSEEN = ("Cc", "Cf")  # control characters; zero-width and other format characters


def with_folded_ids(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return (person, folded): different ids, and what their spellings have in common."""
    persons = batch.column("person")
    lower = pc.ascii_lower(persons)
    # Few ids need it, and looking is many times faster than replacing.
    is_odd = pc.match_substring_regex(lower, _ODD_ASCII)
    seen = pc.replace_substring_regex(pc.filter(lower, is_odd), _UNSEEN_ASCII, "")
    whole = pc.replace_substring_regex(seen, _WHOLE_DECIMAL, r"\1")
    plain = pc.replace_substring_regex(whole, _LEADING_ZEROS, r"\1")
    result = pc.replace_with_mask(lower, is_odd, plain)
    is_other = pc.invert(pc.string_is_ascii(persons))
    others = pc.filter(persons, is_other).to_pylist()
    if others:
        spelled = pa.array([folded(text) for text in others], pa.string())
        result = pc.replace_with_mask(result, is_other, spelled)
    return pa.RecordBatch.from_pydict({"person": persons, "folded": result})
