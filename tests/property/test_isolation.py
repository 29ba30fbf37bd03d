"""What some people write changes nobody else: a file is refused, or all others stay the same."""

import pytest

from tests.homes import new_home
from tests.property.isolation import LAYOUTS, N_WRITERS, Reader, Trial

N_PAIRS = N_WRITERS  # of each kind and layout; the campaign has 10,000 a layout


@pytest.fixture(scope="module")
def reader(tmp_path_factory) -> Reader:
    """Reads in one home, whose ledger is empty."""
    folder = tmp_path_factory.mktemp("isolation")
    return Reader(new_home(folder / "home"), folder)


# One reader reads all kinds of files; `make campaign` tries every kind in every layout.
SEARCHES = [("searches", layout) for layout in LAYOUTS]
OTHERS = [("numbers", "csv-quoted"), ("numbers", "parquet"),
          ("roster", "tsv"), ("roster", "csv-quoted"), ("roster", "parquet")]  # fmt: skip


@pytest.mark.parametrize(("kind", "layout"), [*SEARCHES, *OTHERS])
def test_one_persons_bytes_change_nobody_else(reader, kind, layout, rng):
    trial = Trial(reader, kind, LAYOUTS[layout], rng)
    trial.run(N_PAIRS)
    assert trial.n_read >= N_PAIRS / 4  # a reader that refuses everything proves nothing
    assert layout == "parquet" or trial.n_refused > 0
