"""What some people write changes nobody else: a file is refused, or all others stay the same."""

import os

import numpy as np
import pytest

from tests.homes import new_home
from tests.log.isolation import LAYOUTS, N_WRITERS, Reader, Trial

pytestmark = pytest.mark.property

N_PAIRS = N_WRITERS  # of each kind and layout
MANY_PAIRS = {"searches": 6_000, "numbers": 2_000, "roster": 2_000}


@pytest.fixture(scope="module")
def reader(tmp_path_factory) -> Reader:
    """Reads in one home, whose ledger is empty."""
    folder = tmp_path_factory.mktemp("isolation")
    return Reader(new_home(folder / "home"), folder)


# One reader reads all kinds of files; `make campaign` tries every kind in every layout.
SEARCHES = [("searches", layout) for layout in LAYOUTS]
OTHERS = [("numbers", "csv-quoted"), ("numbers", "parquet"),
          ("roster", "tsv"), ("roster", "csv-quoted")]  # fmt: skip


@pytest.mark.parametrize(("kind", "layout"), [*SEARCHES, *OTHERS])
def test_one_persons_bytes_change_nobody_else(reader, kind, layout):
    # Always the same bytes: of so few, some must be refused.
    trial = Trial(reader, kind, LAYOUTS[layout], np.random.default_rng(20261116))
    trial.run(N_PAIRS)
    assert trial.n_read >= N_PAIRS / 4  # a reader that refuses everything proves nothing
    assert layout == "parquet" or trial.n_refused > 0


@pytest.mark.long
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("kind", MANY_PAIRS)
def test_bytes_of_ten_thousand_people_change_nobody_else(reader, kind, layout, rng):
    """A failure prints the seed, and the bytes that made it fail."""
    print("HYBRIDDP_TEST_SEED =", os.environ.get("HYBRIDDP_TEST_SEED", "the default"))
    trial = Trial(reader, kind, LAYOUTS[layout], rng)
    trial.run(MANY_PAIRS[kind])
    assert trial.n_read > MANY_PAIRS[kind] / 5
