"""A generated log looks like a search log, reads back the same, and appears whole or not at all."""

import gzip
import re
import tracemalloc
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from hybriddp.errors import InvalidParameter
from hybriddp.planning.populations import Population, study_rng
from hybriddp.planning.profiles import head_and_tail
from hybriddp.studies.synthetic.log import ROWS_PER_BATCH, sample_log
from tasks.log.epochs import Epoch
from tasks.synthetic.generate import (
    N_TEXTS,
    NAMED_QUERIES,
    SCHEMA,
    generate_log,
    spell_queries,
    spell_urls,
    write_log,
)

SUFFIXES = [".parquet", ".tsv", ".txt", ".tsv.gz", ".txt.gz"]
EPOCH = Epoch.parse("2026-W46")
LAW = {"seed": 3, "epoch": EPOCH, "records_per_user": "many", "no_click_share": 0.4}


@pytest.fixture(scope="module")
def population() -> Population:
    return head_and_tail("small", n_users=100, n_queries=20_000, n_urls=7_000, rng=study_rng(1))


def read_tsv(path) -> pa.Table:
    return pa.csv.read_csv(
        path,
        parse_options=pa.csv.ParseOptions(delimiter="\t", quote_char=False),
        convert_options=pa.csv.ConvertOptions(
            column_types=SCHEMA, null_values=[""], strings_can_be_null=True
        ),
    )


def test_first_queries_are_those_of_aol():
    assert spell_queries(np.arange(9)).to_pylist() == [
        *["google", "yahoo", "google.com", "myspace.com", "mapquest"],
        *["yahoo.com", "www.google.com", "myspace", "ebay"],
    ]


def test_different_queries_have_different_texts():
    """A million ids: the first half million, and every 32nd up to the last."""
    ids = np.union1d(np.arange(500_000), np.arange(31, N_TEXTS, 32))
    assert len(ids) > 1_000_000
    assert pc.count_distinct(spell_queries(ids)).as_py() == len(ids)


def test_query_text_is_already_normal():
    """Lower-case words with single spaces, so that no normalisation can merge two queries."""
    texts = spell_queries(np.arange(len(NAMED_QUERIES), N_TEXTS, 101))
    is_normal = pc.match_substring_regex(texts, r"^[a-z]+( [a-z]+)*(\.com)?$")
    assert pc.all(is_normal).as_py()
    assert pc.any(pc.match_substring(texts, " ")).as_py()


def test_urls_look_like_urls_and_differ_inside_a_query():
    """Also where there are no more sites than urls of one query, and for named queries."""
    queries, urls = (grid.ravel() for grid in np.mgrid[0:1_000, 0:12])
    texts = spell_urls(queries, urls, n_urls=12)
    table = pa.table({"query": queries, "url": texts}).group_by("query")
    distinct = table.aggregate([("url", "count_distinct")])["url_count_distinct"]
    assert pc.unique(distinct).to_pylist() == [12]
    form = r"^http://www\.[a-z]+\.(com|org|net)$"
    assert pc.all(pc.match_substring_regex(texts, form)).as_py()
    assert texts[0].as_py() == "http://www.google.com"


def test_queries_share_the_given_number_of_sites():
    queries = np.arange(len(NAMED_QUERIES), 50_000)
    texts = spell_urls(queries, np.zeros_like(queries), n_urls=7_000)
    assert pc.count_distinct(texts).as_py() == 7_000


def test_tsv_reads_back_as_the_parquet_file_does(population, tmp_path):
    for suffix in (".parquet", ".tsv"):
        write_log(population, 2_000, tmp_path / f"log{suffix}", **LAW)
    from_parquet = pq.read_table(tmp_path / "log.parquet").cast(SCHEMA)
    from_tsv = read_tsv(tmp_path / "log.tsv").cast(SCHEMA)
    assert from_parquet.equals(from_tsv)
    assert from_parquet.num_rows > 20_000


def test_file_holds_the_sampled_log(population, tmp_path):
    write_log(population, 2_000, tmp_path / "log.parquet", **LAW)
    table = pq.read_table(tmp_path / "log.parquet")
    (batch,) = sample_log(
        population, 2_000, rng=study_rng(3), records_per_user="many", no_click_share=0.4
    )
    seconds = batch.seconds // 13  # 91 days are 13 weeks
    start = np.datetime64("2026-11-09T00:00:00", "s")
    assert np.array_equal(table["AnonID"].to_numpy(), 142 + 37 * batch.user_index)
    assert np.array_equal(table["QueryTime"].to_numpy() - start, seconds.astype("m8[s]"))
    assert table["Query"].combine_chunks().equals(spell_queries(batch.query_id))
    assert table["ItemRank"].fill_null(0).to_pylist() == batch.item_rank.tolist()
    assert np.array_equal(table["ClickURL"].is_null().to_numpy(), batch.url_id == -1)
    assert np.array_equal(table["ItemRank"].is_null().to_numpy(), batch.url_id == -1)


def test_tsv_has_the_header_and_the_row_format_of_aol(population, tmp_path):
    write_log(population, 500, tmp_path / "log.txt", **LAW)
    header, *rows = (tmp_path / "log.txt").read_text(encoding="ascii").split("\n")
    assert header == "AnonID\tQuery\tQueryTime\tItemRank\tClickURL"
    assert rows.pop() == ""
    form = re.compile(
        r"\d+\t[a-z. ]+\t2026-11-(09|1[0-5]) \d\d:\d\d:\d\d\t(\d+\thttp://www\.[a-z]+\.[a-z]+|\t)"
    )
    assert [row for row in rows if not form.fullmatch(row)] == []
    assert any(row.endswith("\t\t") for row in rows)


@pytest.mark.parametrize("suffix", [".tsv.gz", ".txt.gz"])
def test_gzip_holds_the_plain_file(population, tmp_path, suffix):
    write_log(population, 1_000, tmp_path / "log.tsv", **LAW)
    write_log(population, 1_000, tmp_path / f"log{suffix}", **LAW)
    zipped = (tmp_path / f"log{suffix}").read_bytes()
    assert gzip.decompress(zipped) == (tmp_path / "log.tsv").read_bytes()
    assert zipped[4:8] == bytes(4), "the header holds a time, so a later run gives other bytes"


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_same_arguments_give_the_same_bytes_and_another_seed_does_not(population, tmp_path, suffix):
    paths = [tmp_path / f"{name}{suffix}" for name in ("first", "again", "other")]
    for path, seed in zip(paths, (3, 3, 4), strict=True):
        write_log(population, 500, path, **(LAW | {"seed": seed}))
    first, again, other = (path.read_bytes() for path in paths)
    assert first == again != other


def test_another_week_has_other_searches_of_the_same_population(population, tmp_path):
    """What a series needs to be tried out."""
    paths = [tmp_path / f"{name}.parquet" for name in ("week-1", "week-2", "seed-4")]
    for path, law in zip(paths, ({}, {"week": 2}, {"seed": 4}), strict=True):
        write_log(population, 20_000, path, **(LAW | law))
    plain = tmp_path / "plain.parquet"
    write_log(population, 20_000, plain, **LAW)
    first, second, other = (pq.read_table(path) for path in paths)
    assert first == pq.read_table(plain) != second != other
    shares = [pc.mean(pc.equal(week["Query"], "google")).as_py() for week in (first, second)]
    assert abs(shares[0] / shares[1] - 1) < 0.05
    with pytest.raises(InvalidParameter, match="week must be >= 1, got 0"):
        write_log(population, 20_000, plain, **LAW, week=0)


def test_a_generated_population_follows_from_the_seed_alone(tmp_path):
    known = []
    for name, seed, week in (("first", 3, 1), ("second", 3, 2), ("other", 4, 1)):
        path = tmp_path / f"{name}.parquet"
        generate_log("aol-like", 3_000, path, seed=seed, week=week, epoch="2026-W46")
        rows = pq.read_table(path, columns=["Query", "ClickURL"])
        counts = rows.group_by(["Query", "ClickURL"]).aggregate([([], "count_all")])
        top = counts.sort_by([("count_all", "descending")])[:40]
        known.append(set(zip(*(top[c].to_pylist() for c in ("Query", "ClickURL")), strict=True)))
    first, second, other = known
    assert first != second
    assert len(first & second) > len(first & other), "urls are the population's"


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_summary_and_progress_count_what_is_in_the_file(population, tmp_path, suffix):
    steps = []
    path = tmp_path / f"LOG{suffix.upper()}"
    summary = write_log(population, 1_000, path, **LAW, progress=steps.append)
    table = pq.read_table(path) if suffix == ".parquet" else None
    if table is None:
        raw = path.read_bytes()
        table = read_tsv(pa.py_buffer(gzip.decompress(raw) if suffix.endswith("gz") else raw))
    assert summary.rows == sum(steps) == table.num_rows
    assert summary.users == pc.count_distinct(table["AnonID"]).as_py() == 1_000
    assert summary.bytes == path.stat().st_size
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


def test_long_log_is_written_in_several_bounded_pieces(population, tmp_path):
    steps = []
    path = tmp_path / "log.parquet"
    write_log(
        population,
        600_000,
        path,
        seed=1,
        epoch=EPOCH,
        records_per_user="one",
        no_click_share=0.0,
        progress=steps.append,
    )
    metadata = pq.read_metadata(path)
    groups = [metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)]
    assert groups == steps == [ROWS_PER_BATCH, ROWS_PER_BATCH, 600_000 - 2 * ROWS_PER_BATCH]


def peak_bytes(population: Population, n_users: int, path) -> int:
    """Peak of numpy's memory, and of arrow's live buffers at the end of each batch."""
    arrow = [0]
    tracemalloc.start()
    write_log(
        population,
        n_users,
        path,
        seed=1,
        epoch=EPOCH,
        records_per_user="one",
        no_click_share=0.0,
        progress=lambda _: arrow.append(pa.total_allocated_bytes()),
    )
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak + max(arrow)


def test_memory_does_not_grow_with_the_log(population, tmp_path):
    short = peak_bytes(population, 2 * ROWS_PER_BATCH, tmp_path / "short.tsv")
    long = peak_bytes(population, 8 * ROWS_PER_BATCH, tmp_path / "long.tsv")
    assert long < 1.2 * short


class Interrupted(Exception):
    pass


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("error", [Interrupted, KeyboardInterrupt])
def test_failure_in_the_middle_leaves_no_file(population, tmp_path, suffix, error):
    def fail(n_rows: int) -> None:
        raise error

    with pytest.raises(error):
        write_log(population, 500, tmp_path / f"log{suffix}", **LAW, progress=fail)
    assert list(tmp_path.iterdir()) == []


def test_failure_in_the_middle_leaves_the_earlier_file_alone(population, tmp_path):
    path = tmp_path / "log.tsv"
    path.write_text("earlier")

    def fail(n_rows: int) -> None:
        raise Interrupted

    with pytest.raises(Interrupted):
        write_log(population, 500, path, **LAW, progress=fail)
    assert path.read_text() == "earlier"
    write_log(population, 500, path, **LAW)
    assert path.read_text().startswith("AnonID\t")
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_users": 0}, "n_users must be >= 1, got 0"),
        ({"seed": -1}, "seed must be >= 0, got -1"),
        ({"records_per_user": "few"}, "records_per_user must be one of one, many, got 'few'"),
        ({"no_click_share": 1.5}, "no_click_share must be at least 0 and below 1, got 1.5"),
    ],
)
def test_bad_argument_is_refused_and_nothing_is_written(population, tmp_path, arguments, message):
    with pytest.raises(InvalidParameter, match=message):
        write_log(population, path=tmp_path / "log.tsv", **({"n_users": 5} | LAW | arguments))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["log.csv", "log", "log.gz", "log.parquet.gz", "log.tsv.bz2"])
def test_unknown_suffix_is_refused_with_the_known_ones(population, tmp_path, name):
    known = ", ".join(SUFFIXES)
    with pytest.raises(InvalidParameter, match=rf"got '{name}'; use one of {known}\."):
        write_log(population, 5, tmp_path / name, **LAW)


def test_missing_directory_is_refused(population, tmp_path):
    with pytest.raises(InvalidParameter, match="the log's directory must exist"):
        write_log(population, 5, tmp_path / "absent" / "log.tsv", **LAW)


def test_population_with_too_few_sites_is_refused(tmp_path):
    crowded = head_and_tail("crowded", n_users=1, n_queries=60, n_urls=2, rng=study_rng(1))
    with pytest.raises(InvalidParameter, match=r"n_urls must be between \d+ and 16777216, got 2"):
        write_log(crowded, 5, tmp_path / "log.tsv", **LAW)


def test_population_with_more_queries_than_texts_is_refused(tmp_path):
    small = head_and_tail("huge", n_users=1, n_queries=60, n_urls=60, rng=study_rng(1))
    huge = replace(small, n_queries=N_TEXTS + 1)
    with pytest.raises(InvalidParameter, match="n_queries must be <= 16777216, got 16777217"):
        write_log(huge, 5, tmp_path / "log.tsv", **LAW)
