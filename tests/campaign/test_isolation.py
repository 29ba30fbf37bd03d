"""10,000 people's other bytes in each layout of a file, which change nobody else's rows.

It takes minutes, so `make campaign` runs it and `make test` a part of it. The seed is
HYBRIDDP_TEST_SEED; a failure prints it, and the bytes that made it fail.
"""

import os

import pytest

from tests.property.isolation import LAYOUTS, Reader, Trial
from tests.property.test_isolation import reader  # noqa: F401 - fixture

N_PAIRS = {"searches": 6_000, "numbers": 2_000, "roster": 2_000}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("kind", N_PAIRS)
def test_one_persons_bytes_change_nobody_else(reader: Reader, kind, layout, rng):  # noqa: F811
    print("HYBRIDDP_TEST_SEED =", os.environ.get("HYBRIDDP_TEST_SEED", "the default"))
    trial = Trial(reader, kind, LAYOUTS[layout], rng)
    trial.run(N_PAIRS[kind])
    assert trial.n_read > N_PAIRS[kind] / 5
