"""The chain covers the ledger's table, and states are read through an index: both must agree."""

import random
import sqlite3

import pyarrow as pa
import pytest
from typer.testing import CliRunner

import tasks.ledger.witnesses
from flows.cli.main import app
from hybriddp.blender.finding import HeadListMechanism
from hybriddp.params import Budget
from tasks.ledger.chain import Chain, row_hash
from tasks.ledger.check import check_ledger
from tasks.ledger.ledger import Ledger, LedgerCorrupt, LedgerError
from tasks.ledger.rules import Kind
from tasks.ledger.witnesses import verified_head
from tasks.measured.drawing import draw_once
from tasks.store.doctor import examine
from tests.homes import new_home
from tests.release.support import reserve_groups

EVENT = HeadListMechanism.for_budget(Budget(4, 1e-5)).event
TABLE = pa.table({"query": ["a"], "url": ["b"]})
PAIRS = {bytes([number]) * 16: group for number, group in enumerate("SSTTCC")}
RELEASE = "5" * 32


@pytest.fixture
def run(tmp_path):
    """A release whose draw from S was started and never finished."""
    run = reserve_groups(new_home(tmp_path / "home"), RELEASE, PAIRS)

    def die(_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        draw_once(run, "S", EVENT, lambda: None, die)
    return run


def settled(ledger):
    """Return the ledger's whole file, with nothing left in its journal."""
    connection = sqlite3.connect(ledger)
    connection.execute("pragma journal_mode = delete")
    connection.close()
    return ledger.read_bytes()


def replace(ledger, data):
    for name in ("-wal", "-shm", "-journal"):
        ledger.with_name(ledger.name + name).unlink(missing_ok=True)
    ledger.write_bytes(data)


def flipped(data, place, bit=1):
    return data[:place] + bytes([data[place] ^ bit]) + data[place + 1 :]


def test_one_bit_of_the_index_draws_nothing_again(run):
    data, home = settled(run.home.ledger), run.home
    # In the table the kind lies in front of the id, in the index behind it.
    entry = f"{RELEASE}{Kind.DRAW_STARTED}S".encode()
    assert data.count(entry) == 1
    replace(home.ledger, flipped(data, data.index(entry)))
    assert not run.state.has(Kind.DRAW_STARTED, "S"), "whoever asks the index is told a lie"
    for use in (
        check_ledger,
        verified_head,
        lambda home: reserve_groups(home, "other", PAIRS),
        lambda _: draw_once(run, "S", EVENT, lambda: pytest.fail("counted"), lambda _: TABLE),
        lambda home: Ledger(home.ledger).verify(),
    ):
        tasks.ledger.witnesses._CHECKED.clear()
        with pytest.raises(LedgerCorrupt, match="the index that finds them is not"):
            use(home)
    done = CliRunner().invoke(app, ["ledger", "verify", "--home", str(home.root)])
    assert done.exit_code == 1
    assert "newest backup" in " ".join(done.stderr.split())
    [found] = [finding for finding in examine(home) if finding.name == "ledger"]
    assert not found.is_well
    replace(home.ledger, data)
    check_ledger(home)


def test_no_flipped_bit_leaves_a_verified_ledger_with_a_wrong_state(run):
    data, home, dice = settled(run.home.ledger), run.home, random.Random(20261117)
    rows = Ledger(home.ledger).entries()
    right = {
        key: [e.hash for e in rows if (e.release_id, e.attempt) == key]
        for key in {(e.release_id, e.attempt) for e in rows}
    }
    places = [place for place, byte in enumerate(data) if byte]
    n_refused = 0
    for place in dice.sample(places, 200):
        replace(home.ledger, flipped(data, place, 1 << dice.randrange(8)))
        try:
            verified_head(home, anew=True)
            ledger = Ledger(home.ledger)
            told = {key: [e.hash for e in ledger.attempt(*key).entries] for key in right}
        except LedgerError:
            n_refused += 1
            continue
        assert told == right, place
        assert ledger.attempts(RELEASE) == [1], place
    assert n_refused > 100, "most of a young ledger's bytes that are not empty matter"


def test_the_index_is_read_once_in_a_process(run, monkeypatch):
    read = []
    original = tasks.ledger.ledger.require_indexed
    monkeypatch.setattr(
        tasks.ledger.ledger, "require_indexed", lambda c: (read.append(c), original(c))
    )
    tasks.ledger.witnesses._CHECKED.clear()
    for _ in range(2):
        verified_head(run.home)
    assert len(read) == 1
    check_ledger(run.home)
    assert len(read) == 2


@pytest.mark.parametrize("column", range(9))
def test_a_text_that_became_bytes_is_damage(column):
    row = [1, "2026-11-17T00:00:00+00:00", "OPTED_OUT", "", 1, "", "{}", "0" * 64]
    row.append(row_hash(tuple(row)))
    Chain().extend([tuple(row)])
    row[column] = str(row[column]).encode()
    with pytest.raises(LedgerCorrupt):
        Chain().extend([tuple(row)])
