"""The database that servers begin with is kept once, and only a whole one is lent."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from flows.server import empty_database
from flows.server.empty_database import DATABASE, keep, lend
from tests.homes import new_home


@pytest.fixture
def home(tmp_path):
    home = new_home(tmp_path / "home")
    home.prefect.mkdir(parents=True)
    return home


@pytest.fixture
def made(tmp_path) -> Path:
    """A database that was just made."""
    path = tmp_path / "made.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("create table run (id text)")
    return path


def beside_prefect(monkeypatch, folder: Path) -> Path:
    monkeypatch.setattr(empty_database, "_BESIDE_PREFECT", folder)
    return folder


def tables(folder: Path) -> list[tuple[str]]:
    with closing(sqlite3.connect(folder / DATABASE)) as connection:
        return connection.execute("select name from sqlite_master").fetchall()


def test_all_homes_share_the_one_beside_prefect(home, made, tmp_path, monkeypatch):
    folder = beside_prefect(monkeypatch, tmp_path / "environment" / "var")
    assert not lend(home, tmp_path)
    keep(home, made)
    assert lend(home, tmp_path)
    assert tables(tmp_path) == [("run",)]
    (kept,) = folder.iterdir()
    assert list(home.prefect.iterdir()) == []
    kept.write_bytes(b"no database" * 400)
    assert not lend(home, tmp_path), "a damaged one would stop every server"


def test_a_home_keeps_its_own_where_nobody_may_write(home, made, tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    beside_prefect(monkeypatch, tmp_path / "file" / "var")
    keep(home, made)
    assert lend(home, tmp_path)
    assert tables(tmp_path) == [("run",)]
