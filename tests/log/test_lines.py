"""Lines are counted before and after reading: nobody's bytes delete or make other people's rows."""

import gzip

import pytest

import tasks.log.raw.lines
from tasks.log.engine import DuckDBEngine
from tasks.log.raw.files import BadInput, inspect
from tasks.log.raw.lines import count_records, require_every_line
from tests.engines import empty_database
from tests.homes import new_home
from tests.log.isolation import COLUMNS, LAYOUTS, Reader, rows_of

SECRET = "planted-secret"


def source_of(path, data):
    """Write a file and inspect it."""
    path.write_bytes(gzip.compress(data, 1) if path.name.endswith(".gz") else data)
    return inspect(path, ("person",), "log")


def refusal(path, data):
    """Return why a file is refused, which quotes nothing of it."""
    with pytest.raises(BadInput) as caught:
        count_records(source_of(path, data))
    assert SECRET not in str(caught.value)
    return str(caught.value).removeprefix(str(path))


@pytest.mark.parametrize("layout", ["csv", "csv-gzip"])
@pytest.mark.parametrize("kind", COLUMNS)
def test_an_open_quote_of_one_person_deletes_nobody(tmp_path, kind, layout):
    """As somebody types `"weather` into a logger that escapes nothing."""
    rows = rows_of(COLUMNS[kind])
    for at in (0, len(rows) // 2, len(rows) - 1):
        typed = [[*row[:-1], b'"weather'] if i == at else row for i, row in enumerate(rows)]
        file = LAYOUTS[layout].write(tmp_path, "typed", COLUMNS[kind], typed)
        reader = Reader(new_home(tmp_path / "home"), tmp_path)
        with pytest.raises(BadInput, match=f"line {at + 2}: a quote opens"):
            reader.read_or_raise(kind, file)


@pytest.mark.parametrize("block_bytes", [1, 2, 7, 1 << 20])
@pytest.mark.parametrize(("first", "said"), [(b'"', "a quote opens"), (b"\rx", "line ends are")])
def test_of_two_odd_lines_the_first_is_named(tmp_path, monkeypatch, block_bytes, first, said):
    monkeypatch.setattr(tasks.log.raw.lines, "_BLOCK_BYTES", block_bytes)
    other = b"\rx" if first == b'"' else b'"'
    data = b"person,query\na,b\nc,d" + first + b"\ne,f\ng,h" + other + b"\n"
    assert refusal(tmp_path / "log.csv", data).startswith(f", line 3: {said}")


@pytest.mark.parametrize("block_bytes", [1, 5, 1 << 20])
@pytest.mark.parametrize(("at", "ends"), [(2, True), (3, True), (3, False)])
def test_a_line_that_no_search_is_long_enough_for(tmp_path, monkeypatch, block_bytes, at, ends):
    monkeypatch.setattr(tasks.log.raw.lines, "_BLOCK_BYTES", block_bytes)
    monkeypatch.setattr(tasks.log.raw.lines, "MAX_LINE_BYTES", 12)
    lines = [b"person\tquery", b"a\tb", b"c\td"]
    lines[at - 1] = b"a\t0123456789"  # twelve, and its end
    data = b"\n".join(lines) + b"\n" * ends
    assert count_records(source_of(tmp_path / "log.tsv", data)) == 2
    said = refusal(tmp_path / "log.tsv", data.replace(b"9", b"9x"))
    assert said.startswith(f", line {at}: the line is longer than")


@pytest.mark.parametrize("name", ["log.tsv", "log.tsv.gz", "log.csv"])
@pytest.mark.parametrize("block_bytes", [1, 2, 3, 7, 1 << 20])
def test_odd_bytes_are_found_wherever_blocks_end(tmp_path, monkeypatch, name, block_bytes):
    monkeypatch.setattr(tasks.log.raw.lines, "_BLOCK_BYTES", block_bytes)
    path, comma = tmp_path / name, b"," if "csv" in name else b"\t"
    good = b"person,query\na,b\n\nc,d\n".replace(b",", comma)
    assert count_records(source_of(path, good)) == 2
    assert count_records(source_of(path, good.replace(b"\n", b"\r\n"))) == 2
    assert count_records(source_of(path, good[:-1])) == 2
    for bad, line in (
        (good.replace(b"b", b"b\rx"), 2),
        (good.replace(b"d\n", b"d\r\n"), 4),
        (good.replace(b"\n", b"\r\n").replace(b"d\r", b"d"), 4),
        (good.replace(b"\n", b"\r\n").replace(b"b", b"\r"), 2),
        (good + b"\r", 5),
        (good.replace(b"\n", b"\r\n") + b"e\r", 5),
    ):
        assert refusal(path, bad).startswith(f", line {line}: line ends")
    if comma == b",":
        assert count_records(source_of(path, good.replace(b"b", b'"b""x"'))) == 2
        for bad, line in (
            (good.replace(b"b", b'"b'), 2),
            (good.replace(b"d", b'""d"'), 4),
            (good[:-1] + b'"', 4),
            (good.replace(b"b", b'"b').replace(b"d", b'd"'), 2),
        ):
            assert refusal(path, bad).startswith(f", line {line}: a quote opens")


# Odd lines among others, and how many rows they are to DuckDB; what it rejects counts.
ODD_LINES = [
    b"", b"\n", b" ", b"\t", b"\0", b"\0\t\0", b"\xff\t\xff", b"\xef\xbb\xbf", b"\xef\xbb\xbfa\tb",
    b"a\tb\tc", b"a", b"\t" * 5, b"a\t" + b"x" * 5_000_000, b'"a\t"b', b"#a\tb", b"\\\t\\", b"\x1a",
]  # fmt: skip


@pytest.mark.parametrize("line", ODD_LINES, ids=lambda line: repr(line[:9]))
@pytest.mark.parametrize("n_columns", [1, 2])
def test_duckdb_reads_or_rejects_every_line_that_was_counted(tmp_path, line, n_columns):
    header = b"\t".join([b"person", b"query"][:n_columns])
    lines = [header, line, b"a\tb", line, line, b"a\tb", line]
    if n_columns == 1:
        lines = [part.split(b"\t")[0] for part in lines]
    for end in (b"\n", b""):
        source = source_of(tmp_path / "log.tsv", b"\n".join(lines) + end)
        with empty_database() as connection:
            engine = DuckDBEngine(connection)
            engine.read("raw", source, {"person": "person"})
            connection.execute("create table rows as select * from raw")
            n_read = engine.count("rows")
            n_rejected = engine.count("(select distinct file_id, line from raw_errors)")
        require_every_line(source, count_records(source), n_read + n_rejected)


def test_an_even_number_of_quotes_that_swallows_lines_is_found_after_reading(tmp_path):
    """The first quote is text there, and the second opens: no count of quotes tells."""
    rows = rows_of(COLUMNS["searches"])
    rows[5] = [*rows[5][:1], b'a"b', *rows[5][2:4], b'"http://x', rows[5][-1]]
    file = LAYOUTS["csv"].write(tmp_path, "typed", COLUMNS["searches"], rows)
    with pytest.raises(BadInput, match="lines are missing after reading"):
        Reader(new_home(tmp_path / "home"), tmp_path).read_or_raise("searches", file)
