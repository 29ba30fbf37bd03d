"""Logs of odd sizes on Spark: a thousand files of a few rows, and one person with a million."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.homes import new_home
from tests.log.isolation import SEARCH_COLUMNS
from tests.spark.stores import a_store, workers_see
from tests.spark.test_logs import compare

pytestmark = pytest.mark.long
N_FILES = 1_000


def written(folder, kind):
    """Write files, every tenth of which has no row, and one of which has lines that are broken."""
    folder.mkdir()
    for number in range(N_FILES):
        n = number % 10
        people = [f"p{(number * 7 + turn) % 500}" for turn in range(n)]
        queries = [f"query {(number + turn) % 20}" for turn in range(n)]
        times = [f"2026-11-1{turn % 7} 10:00:00" for turn in range(n)]
        columns = [people, queries, times, ["1"] * n, [f"http://{turn}.com" for turn in range(n)]]
        if kind == "parquet":
            table = pa.table(
                {
                    name: pa.array(values, pa.string())
                    for name, values in zip(SEARCH_COLUMNS[:5], columns, strict=True)
                }
            )
            pq.write_table(table, folder / f"part {number}.parquet")
            continue
        lines = ["\t".join(row) for row in [SEARCH_COLUMNS[:5], *zip(*columns, strict=True)]]
        if number % 111 == 1:
            lines += ["p1\tno more", "", "p2\tq\t2026-11-12\t1\thttp://u.com"]
        # Some files do not end their last line.
        text = "\n".join(lines) + ("\n" if number % 3 else "")
        (folder / f"part {number}.tsv").write_text(text)
    return folder


@pytest.mark.parametrize("kind", ["tsv", "parquet"])
def test_a_thousand_small_files(kind, engine, spark, tmp_path):
    home = new_home(tmp_path / "home", known_keys=True)
    folder = written(tmp_path / "log", kind)
    found = compare(engine, home, folder)
    assert len(found["members"]) == 500
    assert len(found["broken_lines"]) == (9 if kind == "tsv" else 0)
    with a_store() as store:
        workers_see(spark, store)
        assert compare(engine, home, folder, (store.copy(folder, f"many-{kind}/log"),)) == found


def test_one_person_with_a_million_rows(engine, tmp_path):
    home = new_home(tmp_path / "home", known_keys=True)
    n, n_others = 1_000_000, 2_000
    rows = np.arange(n + n_others)
    columns = {
        "AnonID": pa.array(np.where(rows < n, "heavy", np.char.add("p", (rows % 997).astype(str)))),
        "Query": pa.array(np.char.add("query ", (rows * 7919 % 1_009).astype(str))),
        "QueryTime": pa.array(["2026-11-12 08:00:00"] * len(rows)),
        "ClickURL": pa.array(np.char.add("http://", (rows % 3).astype(str))),
    }
    log = tmp_path / "log.parquet"
    pq.write_table(pa.table(columns), log, row_group_size=100_000)
    found = compare(engine, home, log)
    assert len(found["members"]) == 998
