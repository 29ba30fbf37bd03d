"""Two weeks of a series, released once; copies of their shelf to spoil, and a server for them."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tasks.store.keys import Keyring
from tests.compatibility.old_homes import unpack
from tests.publish.shelves import key_of
from tests.reader.servers import Server, serving
from tests.reader.shelves import Shelf
from tests.release.conftest import fast_folder, root  # noqa: F401 - fixtures
from tests.release.series.support import run_week, series_home, usual
from tests.release.support import waive_gates


@pytest.fixture(scope="session")
def published(fast_folder) -> Shelf:  # noqa: F811
    """Two weeks of a series; in the second some people search for something new."""
    folder = Path(tempfile.mkdtemp(dir=fast_folder))
    home = series_home(folder / "home")
    with pytest.MonkeyPatch.context() as monkeypatch:
        waive_gates(monkeypatch.setattr)
        run_week(home, folder, 1, usual())
        new = {person: ["weather" if "news" in had else "maps"] for person, had in usual().items()}
        run_week(home, folder, 2, new)
    return Shelf(home.shelf("search", "all"), key_of(home), Keyring.open(home).signing.sign)


@pytest.fixture
def shelf(published, root) -> Shelf:  # noqa: F811
    """A copy of the shelf, to spoil."""
    return published.copied(root / "shelf")


@pytest.fixture
def server(shelf, monkeypatch) -> Iterator[Server]:
    """A server of the shelf."""
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    with serving(shelf.path) as running:
        yield running


@pytest.fixture(scope="session")
def old_homes(fast_folder) -> dict[str, Path]:  # noqa: F811
    """The homes that older versions made."""
    return {
        version: unpack(version, Path(tempfile.mkdtemp(dir=fast_folder)))
        for version in ("0.1.0", "0.2.0")
    }
