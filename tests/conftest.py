"""Seeds and hypothesis profiles: `make test` is deterministic, `make campaign` is not."""

import gc
import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

settings.register_profile("default", derandomize=True, deadline=None, max_examples=15)
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


@pytest.fixture
def same_rng() -> np.random.Generator:
    """A generator that is the same in every run, for bounds that were measured, not computed.

    On a fresh seed nobody could say how often correct code would miss them.
    """
    return np.random.default_rng(20261116)


# What takes longest goes first, so that both processes of `make test` end at about the same time.
FIRST = (
    "flow", "test_crash.py", "compatibility", "test_quality.py", "test_ingest.py",
    "test_commands.py", "test_witnesses.py", "test_planner.py", "test_takedown_crash.py",
    "test_high_utility.py", "test_estimation.py", "test_judgements.py", "test_devices.py",
)  # fmt: skip


def pytest_collection_modifyitems(items):
    """Begin with what takes longest."""
    items.sort(key=lambda item: _rank(item.path))


def pytest_runtest_teardown(item, nextitem):
    """Let no collection of garbage look again at what has outlived a file of tests.

    Thousands of tests and the libraries that they import make one take half a second, and commands
    that fail ask for one.
    """
    if nextitem is None or nextitem.path != item.path:
        gc.collect()
        gc.freeze()


def pytest_collection_finish():
    """Nor at what there is before the first."""
    gc.collect()
    gc.freeze()


def pytest_sessionfinish():
    """At the end everything may go: some libraries complain of what is left."""
    gc.unfreeze()


def pytest_xdist_make_scheduler(config, log):
    """Keep a file's tests in one process, and all of those that share the Prefect server.

    xdist's own groups need an attribute that pytest 9.2 has no more, and are then silently ignored.
    """
    from xdist.scheduler import LoadScopeScheduling

    class ByFile(LoadScopeScheduling):
        def _split_scope(self, nodeid):
            path = Path(nodeid.split("::")[0])
            return "flow" if path.parent.name == "flow" else str(path)

    return ByFile(config, log)


def _rank(path: Path) -> int:
    names = (path.parent.name, path.name)
    return next((i for i, name in enumerate(FIRST) if name in names), len(FIRST))


def pytest_make_parametrize_id(val):
    """Name cases with bytes by their length: they may hold a time, and processes must agree."""
    return f"{len(val)}-bytes" if isinstance(val, bytes) else None
