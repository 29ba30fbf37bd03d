"""Seeds and hypothesis profiles: `make test` is deterministic, `make campaign` is not."""

import os

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

settings.register_profile("default", derandomize=True, deadline=None, max_examples=60)
settings.register_profile(
    "campaign",
    deadline=None,
    max_examples=2_000,
    suppress_health_check=[HealthCheck.too_slow],
    print_blob=True,
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))


@pytest.fixture
def rng() -> np.random.Generator:
    """A generator for this test; `make campaign` gives every run another seed."""
    return np.random.default_rng(int(os.environ.get("HYBRIDDP_TEST_SEED", "20261116")))
