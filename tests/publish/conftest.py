"""A small release, made once without Prefect, and copies of it to spoil."""

import shutil
from pathlib import Path

import pytest

from tasks.request import ReleaseRequest
from tasks.run import Run, identify
from tasks.steps import run_release
from tests.flow.logs import write_searches
from tests.homes import new_home


@pytest.fixture(scope="session")
def original(tmp_path_factory) -> Run:
    folder = tmp_path_factory.mktemp("publish")
    write_searches(folder / "searches.tsv", 1_500)
    request = ReleaseRequest(log=folder / "searches.tsv", epoch="2026-W46", optin_fraction=0.3)
    run = identify(request, new_home(folder / "home"))
    assert run_release(run) is not None
    return run


@pytest.fixture
def run(original, tmp_path) -> Run:
    """A copy of the home with its release."""
    shutil.copytree(original.home.root, tmp_path / "home")
    return Run(new_home(tmp_path / "home"), original.release_id, original.attempt, original.request)


@pytest.fixture
def folder(run) -> Path:
    return run.home.shelf("search", "all") / run.release_id
