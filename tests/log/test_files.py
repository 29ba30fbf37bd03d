"""What a log's files are is found out before they are read, and said without quoting them."""

import errno
import gzip
import itertools
import os
import re
import traceback
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tasks.log.raw.files import BadInput, inspect

SECRET = "planted-secret"
HEADER = b"AnonID\tQuery\tClickURL\n"
ROW = f"7\t{SECRET}\thttp://{SECRET}\n".encode()
WANTED = ("AnonID", "Query", "ClickURL")


def refusal(path):
    """Return why a log is refused; the reason quotes nothing, and hides no error that does."""
    with pytest.raises(BadInput) as caught:
        inspect(path, WANTED, "log")
    assert SECRET not in "".join(traceback.format_exception(caught.value)).replace(str(path), "")
    return str(caught.value)


def write(folder, files):
    """Write files into a new folder and return it."""
    folder.mkdir(parents=True)
    for name, data in files.items():
        (folder / name).write_bytes(data)
    return folder


def parquet_bytes(**columns):
    """Return a Parquet file."""
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table(columns), sink)
    return sink.getvalue().to_pybytes()


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("log.tsv", HEADER + ROW),
        ("log.TXT", HEADER + ROW),
        ("log.tsv", HEADER),
        ("log.tsv", HEADER.rstrip()),
        ("log.tsv", HEADER.replace(b"\n", b"\r\n") + ROW),
        ("log.tsv", b"\xef\xbb\xbf" + HEADER),
        ("log.tsv.gz", gzip.compress(HEADER + ROW, mtime=0)),
        ("log.tsv.gz", gzip.compress(HEADER[:9], mtime=0) + gzip.compress(HEADER[9:], mtime=0)),
        ("log.csv", b'"AnonID",Query,"ClickURL"\r\n'),
        ("log.csv", b'\xef\xbb\xbf"AnonID",Query,ClickURL\n'),
        ("log.csv.gz", gzip.compress(b"AnonID,Query,ClickURL\n", mtime=0)),
        ("log.parquet", parquet_bytes(AnonID=[7], Query=[SECRET], ClickURL=["u"])),
    ],
)
def test_columns_are_found(tmp_path, name, data):
    path = tmp_path / name
    path.write_bytes(data)
    source = inspect(path, WANTED, "log")
    assert source.files == (path,)
    assert source.columns == WANTED
    assert source.dialect == name.lower().removesuffix(".gz").rpartition(".")[2].replace(
        "txt", "tsv"
    )


@pytest.mark.parametrize(
    ("name", "data", "said"),
    [
        ("log.tsv", b"", "is empty"),
        ("log.tsv.gz", gzip.compress(b"", mtime=0), "is empty"),
        ("log.tsv", ROW, "lacks the columns AnonID, Query, ClickURL"),
        ("log.tsv", b"AnonID\tQuery\n" + ROW, "lacks the column ClickURL"),
        ("log.tsv", b"anonid\tquery\tclickurl\n", "lacks the columns"),
        ("log.tsv", HEADER.replace(b"\n", b"\r") + ROW, "lacks the column ClickURL"),
        ("log.tsv", HEADER.replace(b"\n", b"\tQuery\n"), "names a column twice"),
        ("log.tsv", HEADER.replace(b"\n", b"\tQUERY\n"), "names a column twice"),
        ("log.tsv", b"\x7fELF\0" + ROW, "a line of UTF-8 text"),
        ("log.tsv", b"\xff" + SECRET.encode() + b"\n", "a line of UTF-8 text"),
        ("log.tsv", (HEADER + ROW).decode().encode("utf-16"), "is UTF-16 text; save"),
        ("log.tsv", (HEADER + ROW).decode().encode("utf-16-le"), "Save it as UTF-8"),
        ("log.tsv", gzip.compress(HEADER, mtime=0), "with gzip; let its name end in .gz"),
        ("log.tsv", parquet_bytes(AnonID=[7]), "is a Parquet file; let its name end in .parquet"),
        ("log.csv", b"PK\x03\x04\x14", "is a zip archive or a workbook"),
        ("log.tsv", HEADER.rstrip() + b"\t" + b"x" * 100_000, "a line of UTF-8 text"),
        ("log.tsv.gz", HEADER + ROW, "take the .gz off"),
        ("log.tsv.gz", gzip.compress(HEADER, mtime=0)[:20], "not a whole gzip file"),
        ("log.tsv.gz", b"\x1f\x8b", "not a whole gzip file"),
        ("log.csv", b"AnonID,Query\rClickURL\n" + ROW, "is not CSV"),
        ("log.parquet", HEADER + ROW, "not a Parquet file"),
        ("log.parquet", parquet_bytes(AnonID=[7])[:-8], "not a Parquet file"),
        ("log.parquet", parquet_bytes(AnonID=[7.5], Query=["q"], ClickURL=["u"]), "ID as double"),
        ("log.parquet", parquet_bytes(AnonID=[b"7"], Query=["q"], ClickURL=["u"]), "as binary"),
        ("log.parquet", parquet_bytes(AnonID=[7], Query=[["q"]], ClickURL=["u"]), "Query as list"),
        (
            "log.parquet",
            parquet_bytes(AnonID=pa.array([7], pa.duration("ns")), Query=["q"], ClickURL=["u"]),
            "AnonID as duration",
        ),
        ("log.json", b"{}", "no suffix of a log"),
        ("log", HEADER, "no suffix of a log"),
    ],
)
def test_other_files_are_refused(tmp_path, name, data, said):
    path = tmp_path / name
    path.write_bytes(data)
    message = refusal(path)
    assert message.startswith(str(path))
    assert said in message


def test_folder_is_read_in_the_order_of_names_without_markers(tmp_path):
    part = gzip.compress(HEADER + ROW, mtime=0)
    folder = write(
        tmp_path / "log", {"b.tsv.gz": part, "a.tsv": HEADER, ".x": b"", "_SUCCESS": b""}
    )
    (folder / "deeper").mkdir()
    source = inspect(folder, WANTED, "log")
    assert [file.name for file in source.files] == ["a.tsv", "b.tsv.gz"]


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({}, "holds no file"),
        ({".hidden.tsv": HEADER}, "holds no file"),
        ({"a.tsv": HEADER, "b.csv": b"AnonID,Query,ClickURL\n"}, "mixes csv and tsv files"),
        ({"a.tsv": HEADER, "b.tsv": b"x\t" + HEADER}, "b.tsv has other columns than a.tsv"),
        ({"a.tsv": HEADER, "b.tsv": b""}, "b.tsv is empty"),
        ({"a.tsv": HEADER, "readme.md": b"x"}, "readme.md has no suffix"),
    ],
)
def test_folders_that_are_no_log(tmp_path, files, said):
    assert said in refusal(write(tmp_path / "log", files))


TYPES = {
    "whole": pa.array([142]),
    "small": pa.array([142], pa.int32()),
    "text": pa.array(["0142"]),
    "coded": pa.array(["0142"]).dictionary_encode(),
    "bool": pa.array([True]),
    "nulls": pa.nulls(1),
    "time": pa.array([0], pa.timestamp("us")),
    "zoned": pa.array([0], pa.timestamp("us", "UTC")),
    "date": pa.array([0], pa.date32()),
}


@pytest.mark.parametrize("what", ["log", "roster"])
@pytest.mark.parametrize(("one", "other"), [*itertools.permutations(TYPES, 2)])
def test_parquet_files_have_the_same_types(tmp_path, what, one, other):
    """DuckDB would cast the later files: 0142 and 142.4 would be the person 142."""
    parts = {"a.parquet": one, "b.parquet": one, "c.parquet": other}
    files = {name: parquet_bytes(person=TYPES[kind], x=[1]) for name, kind in parts.items()}
    folder = write(tmp_path / what, files)
    types = f"holds person as {TYPES[other].type}, but a.parquet as {TYPES[one].type}, so"
    with pytest.raises(BadInput, match=re.escape(f"{folder / 'c.parquet'} {types}")):
        inspect(folder, ("person",), what)
    (folder / "c.parquet").unlink()
    assert len(inspect(folder, ("person",), what).files) == 2


def test_numbers_have_the_same_type_and_what_nobody_reads_may_differ(tmp_path):
    """The number 0.4 after whole numbers would be 0."""
    files = {
        "a.parquet": parquet_bytes(p=["a"], n=[3]),
        "b.parquet": parquet_bytes(p=["b"], n=[0.4]),
    }
    folder = write(tmp_path / "log", files)
    with pytest.raises(BadInput, match=r"b\.parquet holds n as double, but a\.parquet as int64"):
        inspect(folder, ("p",), "log", numbers=("n",))
    assert inspect(folder, ("p",), "log").columns == ("p", "n")


ODD_NUMBERS = {
    "duration": pa.array([1], pa.duration("us")),
    "bool8": pa.ExtensionArray.from_storage(pa.bool8(), pa.array([1], pa.int8())),
    "halffloat": pa.array([np.float16(1)], pa.float16()),
    "binary": pa.array([b"1"], pa.binary()),
}


@pytest.mark.parametrize("kind", ODD_NUMBERS)
def test_what_engines_would_not_read_as_the_same_number(tmp_path, kind):
    file = write(tmp_path / "log", {"a.parquet": parquet_bytes(p=["a"], n=ODD_NUMBERS[kind])})
    with pytest.raises(BadInput, match="which is not read as a number"):
        inspect(file, ("p",), "log", numbers=("n",))


def test_what_is_not_there(tmp_path):
    assert "is not there" in refusal(tmp_path / "log.tsv")
    os.mkfifo(tmp_path / "pipe.tsv")
    assert "is not there" in refusal(tmp_path / "pipe.tsv")
    assert "cannot be read (File name too long)" in refusal(tmp_path / ("x" * 300))


def test_what_may_not_be_read(tmp_path, monkeypatch):
    """Root may read everything, so the refusal of the operating system is played here."""
    folder = write(tmp_path / "log", {"a.tsv": HEADER})

    def refuse(*_args, **_kwargs):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    with monkeypatch.context() as patched:
        patched.setattr(Path, "open", refuse)
        assert "a.tsv cannot be read (Permission denied)" in refusal(folder)
    with monkeypatch.context() as patched:
        patched.setattr(Path, "iterdir", refuse)
        assert "cannot be read (Permission denied)" in refusal(folder)


def test_digest_is_of_contents_and_their_order(tmp_path):
    def digest(name, files):
        return inspect(write(tmp_path / name, files), WANTED, "log").digest()

    one = digest("one", {"a.tsv": HEADER, "b.tsv": HEADER + ROW})
    assert digest("renamed", {"x.tsv": HEADER, "y.tsv": HEADER + ROW}) == one
    assert digest("turned", {"a.tsv": HEADER + ROW, "b.tsv": HEADER}) != one
    assert digest("moved", {"a.tsv": HEADER + ROW, "b.tsv": HEADER + ROW}) != one


@pytest.mark.parametrize(
    ("name", "data", "listed"),
    [
        ("log.tsv", b"AnonID\tSearch\tURL\n" + ROW, "It has AnonID, Search, URL. "),
        ("log.parquet", parquet_bytes(uid=[7], search=["q"]), "It has uid, search. "),
        ("log.tsv", b"alice\tweather\tgoogle\n", None),
        ("log.tsv", b"AnonID\tQuery\r7\tweather\n", None),
    ],
)
def test_missing_column_lists_those_that_are_surely_names(tmp_path, name, data, listed):
    """A file without a header has somebody's row where its header should be."""
    path = tmp_path / name
    path.write_bytes(data)
    message = refusal(path)
    assert "lacks the column" in message
    assert listed in message if listed else "It has" not in message
    assert "weather" not in message


@pytest.mark.parametrize(
    ("name", "delimiter", "said"),
    [
        ("log.csv", ";", "has semicolons between its columns (AnonID, Query, ClickURL)"),
        ("log.tsv", ";", "Write it again with commas (.csv) or tabs (.tsv)."),
        ("log.csv", "|", "has vertical bars between"),
        ("log.tsv", ",", "a .tsv file is read with tabs, and AnonID, Query, ClickURL are wanted. "
         "Let its name end in .csv."),
        ("log.csv", "\t", "Let its name end in .tsv."),
    ],
)  # fmt: skip
def test_other_delimiters_are_named_but_never_a_row(tmp_path, name, delimiter, said):
    path = tmp_path / name
    row = delimiter.join(["alice", "weather", "google"])
    path.write_text(delimiter.join(WANTED) + f"\n{row}\n")
    message = refusal(path)
    assert said in message
    assert "--columns" not in message, "that would not help"
    path.write_text(delimiter.join(f'"{column}"' for column in WANTED) + f"\n{row}\n")
    assert said in refusal(path)
    path.write_text(f"{row}\n{delimiter.join(WANTED)}\n")  # no header: somebody's row comes first
    message = refusal(path)
    assert "may be somebody's row and is not shown" in message
    assert not [text for text in ("alice", "weather", "google") if text in message]
