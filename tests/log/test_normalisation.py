"""The kernel for whole columns and the rule for one text are the same rule."""

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybriddp.device.normalise import normalise_query, normalise_url
from tasks.log.normalisation import normalise_records

CONTROLS = [chr(code) for code in [*range(1, 33), 127]]
ASCII = st.text(st.characters(max_codepoint=127))
SPACED = st.text(st.sampled_from([*CONTROLS, "A", "b", "\x85", "\u00a0", "\u3000"]))
# Letters whose lower case or composition is not one character for one.
TRICKY = st.text(st.sampled_from("aJ\u030c\u0307\u0323\u0130\u03a3\u212a\u1e9e\u0345\u1fb3\u2000 "))
TEXTS = st.lists(ASCII | SPACED | TRICKY | st.text(st.characters(exclude_categories=["Cs"])))


def normalised(queries, urls):
    """Return a batch of records after the kernel."""
    batch = pa.RecordBatch.from_pydict(
        {
            "account": pa.array([bytes([i % 256]) for i in range(len(queries))], pa.binary()),
            "query": pa.array(queries, pa.string()),
            "url": pa.array(urls, pa.string()),
        }
    )
    result = normalise_records(batch)
    assert result.schema == batch.schema
    assert result.column("account").equals(batch.column("account"))
    return result


def assert_like_devices(texts):
    result = normalised(texts, texts)
    assert result.column("query").to_pylist() == [normalise_query(text) for text in texts]
    assert result.column("url").to_pylist() == [normalise_url(text) for text in texts]


@given(TEXTS)
def test_kernel_is_the_devices_rule(texts):
    assert_like_devices(texts)


@pytest.mark.parametrize("control", ["\0", *CONTROLS], ids=repr)
def test_kernel_agrees_on_every_ascii_control(control):
    assert_like_devices([control, f"{control}A", f"A{control}", f"A{control}{control} B{control}"])


def test_ascii_and_other_text_in_one_column_keep_their_rows():
    result = normalised(
        [" A ", "CAFE\u0301", "B\tC", "CAFE\u0301", ""],
        ["X ", " \u00c9", "Y\tZ", "http://a\u00a0", "\x1c"],
    )
    assert result.column("query").to_pylist() == ["a", "caf\u00e9", "b c", "caf\u00e9", ""]
    assert result.column("url").to_pylist() == ["X", "\u00c9", "Y\tZ", "http://a", ""]


def test_no_records_stay_no_records():
    assert normalised([], []).num_rows == 0
