"""No character of a path is a pattern, an option or an escape: a release works in any folder."""

import gzip
import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hybriddp.errors import InvalidParameter
from tasks.budget.showing.overview import balance, runway
from tasks.log.engine import open_duckdb, open_memory
from tasks.log.raw.files import BadInput
from tasks.products.head_list.estimation.processing import trim_head_list
from tasks.products.head_list.run import identify
from tasks.release.run import log_source
from tasks.release.walk import run_release
from tasks.store.home import Home
from tasks.store.paths import plain_path
from tasks.verify.signatures import read_public_key
from tasks.verify.verify import verify_publication
from tests.homes import new_home, steps_of
from tests.release.support import request_for

# DuckDB cannot keep a database below a question mark or a backslash; logs may lie there.
ODD_HOME = "a[b]*'\" %é{c}:;#&=\n"
ODD = ODD_HOME + "?\\"


def test_a_release_in_a_home_and_of_a_log_with_odd_names(log, root, gates_waived):
    (root / ODD).mkdir()
    odd_log = root / ODD / f"{ODD}.tsv"
    shutil.copy(log, odd_log)
    home = new_home(root / ODD_HOME / ODD_HOME)
    run = identify(request_for(odd_log), home)
    folder = run_release(run)
    assert folder is not None
    assert len(list((run.folder / "derived").iterdir())) > 5
    checks = verify_publication(home, folder, read_public_key(home.public / "signing.pub"))
    assert checks[-1].name == "recomputed"
    assert runway(home).n_accounts > 500
    assert balance(home, "7").spent.epsilon > 0
    trim_head_list(run)
    assert run_release(identify(request_for(odd_log), home)) == folder, "and again, for free"


@pytest.mark.parametrize("suffix", [".tsv", ".csv", ".tsv.gz", ".parquet"])
@pytest.mark.parametrize("name", ["a[b]", "a?", "a*", "a\\b", "a'b", "a\nb", "a{b}", "[!a]"])
def test_a_file_beside_one_that_it_would_match_is_read_alone(root, name, suffix):
    """A pattern would read both, or neither."""
    columns = ["AnonID", "Query", "QueryTime", "ClickURL"]
    delimiter = "\t" if "tsv" in suffix else ","
    text = f"{delimiter.join(columns)}\n{delimiter.join('1qtu')}\n".encode()
    for stem in (name, "ab", "a", "aa", "b"):
        path = root / f"{stem}{suffix}"
        if suffix == ".parquet":
            pq.write_table(pa.table({column: ["1"] for column in columns}), path)
        else:
            path.write_bytes(gzip.compress(text) if suffix.endswith("gz") else text)
    with open_memory(root / "spill") as engine:
        source = log_source(request_for(root / f"{name}{suffix}"))
        engine.read("raw", source, {"person": "AnonID"})
        assert engine._connection.execute("select count(*) from raw").fetchone() == (1,)


def test_sealed_files_and_warehouses_lie_where_they_are_said_to(root):
    folder = root / ODD_HOME / "warehouse"
    with open_duckdb(folder) as engine:
        engine._connection.execute("create table t as select 7 as n")
        engine.seal("t", folder / "sealed.parquet")
        engine.read_sealed("back", [folder / "sealed.parquet"])
        assert engine.fetch("back").to_pylist() == [{"n": 7, "file": "sealed"}]
    assert {"warehouse.duckdb", "sealed.parquet"} <= {path.name for path in folder.iterdir()}
    assert sorted(path.name for path in root.iterdir()) == [ODD_HOME]


@pytest.mark.parametrize("name", ["a?b", "a\\b"])
def test_a_home_where_duckdb_cannot_work_is_refused_before_anybody_pays(
    log, root, name, gates_waived
):
    with pytest.raises(InvalidParameter, match="question mark or a backslash"):
        Home.create(root / name)
    assert not (root / name).exists()
    (root / name).mkdir()  # as an older version did
    home = new_home(root / name)
    with pytest.raises(InvalidParameter, match="Nobody was charged"):
        run_release(identify(request_for(log), home))
    assert steps_of(home) == []


def test_plain_paths_stay_as_they_are_and_links_hold_names_only(tmp_path):
    assert plain_path(tmp_path / "log.tsv") == str(tmp_path / "log.tsv")
    linked = Path(plain_path(tmp_path / "a*b.csv.gz"))
    assert linked.is_symlink()
    assert linked.name.endswith(".csv.gz")
    assert plain_path(tmp_path / "a*b.csv.gz") == str(linked), "one link for one path"


def test_a_path_that_is_not_utf8_is_refused_before_anybody_pays(root, log):
    odd = Path(f"{root}/\udcff")
    with pytest.raises(InvalidParameter, match="must be UTF-8"):
        Home.create(odd)
    shutil.copy(log, f"{odd}.tsv")
    home = new_home(root / "home")
    with pytest.raises(BadInput, match="UTF-8"):
        identify(request_for(Path(f"{odd}.tsv")), home)
    assert steps_of(home) == []
