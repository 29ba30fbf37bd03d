"""How much memory DuckDB may use is a fact of the machine: read from it, or set."""

import pytest

from hybriddp.errors import InvalidParameter
from tasks.log.duck.instances import start
from tasks.store import memory
from tasks.store.doctor import examine
from tests.homes import new_home

GB = 10**9


@pytest.fixture(autouse=True)
def unset(monkeypatch):
    monkeypatch.delenv(memory.VARIABLE, raising=False)


@pytest.fixture
def groups(monkeypatch, tmp_path):
    """A system whose control groups a test writes; without any, the machine alone counts."""
    monkeypatch.setattr(memory, "_CGROUPS", tmp_path / "cgroup")
    monkeypatch.setattr(memory, "_OWN_CGROUPS", tmp_path / "own")
    pages = {"SC_PAGE_SIZE": 4_000, "SC_PHYS_PAGES": 8_000_000}  # 32 GB
    monkeypatch.setattr(memory.os, "sysconf", pages.__getitem__)

    def write(own: str, **limits: str) -> None:
        (tmp_path / "own").write_text(own)
        for path, limit in limits.items():
            file = tmp_path / "cgroup" / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(limit)

    return write


def test_default_is_a_quarter_of_the_machine_within_bounds(groups, monkeypatch):
    assert memory.usable() == 32 * GB
    assert memory.for_duckdb() == 8 * GB
    for usable, default in ((GB, 2 * memory.LEAST), (16 * GB, 4 * GB), (1_000 * GB, 64 * GB)):
        monkeypatch.setattr(memory, "usable", lambda usable=usable: usable)
        assert memory.for_duckdb() == default


@pytest.mark.parametrize(
    ("own", "limits", "usable"),
    [
        ("0::/\n", {"memory.max": "4000000000\n"}, 4 * GB),
        ("0::/a/b\n", {"a/memory.max": "3000000000\n", "a/b/memory.max": "max\n"}, 3 * GB),
        ("0::/a\n", {"a/memory.max": "max\n"}, 32 * GB),
        # The path is the host's, and only the root is seen.
        ("0::/kubepods/pod7\n", {"memory.max": "2000000000\n"}, 2 * GB),
        (
            "5:cpu:/a\n4:hugetlb,memory:/a\n0::/\n",
            {
                "memory/a/memory.limit_in_bytes": "5000000000\n",
                "memory/memory.limit_in_bytes": "9223372036854771712\n",
            },
            5 * GB,
        ),
        ("3:name=memory:/a\n", {"memory/a/memory.limit_in_bytes": "1\n"}, 32 * GB),
    ],
    ids=["v2", "v2, a group above", "v2, none", "v2, in a container", "v1", "another group"],
)
def test_limits_of_containers_count(groups, own, limits, usable):
    groups(own, **limits)
    assert memory.usable() == usable


@pytest.mark.parametrize(
    ("said", "amount"),
    [("6GB", 6 * GB), ("1.5 gb", 15 * 10**8), ("800MB", 8 * 10**8), ("1GiB", 2**30)],
)
def test_setting_is_what_duckdb_may_use(monkeypatch, tmp_path, said, amount):
    monkeypatch.setenv(memory.VARIABLE, said)
    assert memory.for_duckdb() == amount
    with start(str(tmp_path)) as connection:
        ((limit,),) = connection.execute("select current_setting('memory_limit')").fetchall()
    number, unit = limit.split()
    units = {"MiB": 2**20, "GiB": 2**30}
    assert float(number) * units[unit] == pytest.approx(amount, rel=0.1)  # it shows one decimal


@pytest.mark.parametrize(
    "said", ["6", "much", "6 GBs", "-6GB", "50%", "1e3GB", "100MB", "0GB", "٦GB"]
)
def test_setting_that_is_none_is_refused_with_the_remedy(monkeypatch, tmp_path, said):
    monkeypatch.setenv(memory.VARIABLE, said)
    with pytest.raises(InvalidParameter, match="HYBRIDDP_MEMORY must be"):
        memory.for_duckdb()
    assert memory.VARIABLE in found(tmp_path).detail
    assert not found(tmp_path).is_well


def found(folder):
    (finding,) = (one for one in examine(new_home(folder / "home")) if one.name == "memory")
    return finding


def test_doctor_says_how_much_and_whether_the_machine_has_it(groups, monkeypatch, tmp_path):
    assert found(tmp_path).is_well
    assert "DuckDB may use 8.0 GB of 32.0 GB" in found(tmp_path).detail
    monkeypatch.setenv(memory.VARIABLE, "31GB")
    assert not found(tmp_path).is_well
    assert "beside DuckDB" in found(tmp_path).remedy
