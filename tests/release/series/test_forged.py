"""A season block that cannot be true is refused, although the publisher's own key signed it."""

import copy
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from tasks.ledger.charges import Charge
from tasks.products.head_list import JOINING
from tasks.products.head_list.series.request import week_prices
from tasks.publish.publish import published_folder
from tasks.verify.checks import VerificationFailed
from tasks.verify.verify import verify_release
from tests.homes import new_home
from tests.publish.checking.spoiling import Publisher
from tests.release.series.support import run_week, series_home, usual
from tests.release.support import waive_gates

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def original(fast_folder) -> Any:
    """The second week of a season, which found `weather`."""
    root = fast_folder / "forged"
    root.mkdir()
    home = series_home(root / "home")
    with pytest.MonkeyPatch.context() as monkeypatch:
        waive_gates(monkeypatch.setattr)
        run_week(home, root, 1, usual())
        return run_week(home, root, 2, {p: [*own, "weather"] for p, own in usual().items()})


@pytest.fixture
def run(original, root) -> Any:
    shutil.copytree(original.home.root, root / "copy")
    home = new_home(root / "copy")
    return type(original)(home, original.release_id, original.attempt, original.request)


def higher_thresholds(run: Any, manifest: dict[str, Any]) -> None:
    """Tests that nothing passed, and the smaller price that they have."""
    numbers = copy.deepcopy(run.place.numbers)
    for track in numbers["tracks"]:
        track[2] = [None if threshold is None else 20 * threshold for threshold in track[2]]
    place = run.place.model_copy(update={"numbers": numbers})
    manifest["season"]["numbers"] = numbers
    price = week_prices(place, run.request.params().budget)[JOINING]
    manifest["guarantees"][JOINING]["delta_atto"] = Charge.of(price).delta


def setting(*path: str, to: Any) -> Callable[[Any, dict[str, Any]], None]:
    """Return what writes another value into a manifest."""

    def change(_run: Any, manifest: dict[str, Any]) -> None:
        inner = manifest
        for name in path[:-1]:
            inner = inner[name]
        inner[path[-1]] = to

    return change


OTHER_SEASON = "the season is not the one that the parameters speak of"
FORGED = {
    "longer than it is": (setting("parameters", "season_weeks", to=52), OTHER_SEASON),
    "clients every week": (setting("parameters", "rotation", to=1), OTHER_SEASON),
    "another law": (
        setting("parameters", "mechanism_version", to="blender-weighted-1"), OTHER_SEASON,
    ),
    "another epoch": (setting("epoch", to="2026-W45"), OTHER_SEASON),
    "begun earlier": (setting("season", "first_epoch", to="2026-W30"), OTHER_SEASON),
    "begun never": (setting("season", "first_epoch", to="bananas"), "that no release of this kind"),
    "a week twice": (setting("season", "unseen", to=[1]), "the weeks before are not in order"),
    "nothing found": (setting("season", "found", to={}), "other records than are published"),
    "found before": (
        setting("season", "found", "weather", "http://weather.com", to=1), "found in other weeks",
    ),
    "changes hidden": (setting("season", "hidden_changes", to=1), "changes are missing beyond"),
    "tests that nobody passed": (higher_thresholds, "named without passing a test"),
}  # fmt: skip


def verify(run: Any, folder: Path) -> None:
    key = bytes.fromhex((run.home.public / "signing.pub").read_text())
    verify_release(folder, key, measurements=run.folder)


@pytest.mark.parametrize(("change", "message"), FORGED.values(), ids=FORGED)
def test_a_season_that_cannot_be_true_is_refused(run, change, message):
    folder = published_folder(run)
    publisher = Publisher(run, folder)
    trends = pq.read_table(folder / "trends.parquet")
    publisher.sign(trends=trends)
    verify(run, folder)  # what is signed again as it was is fine
    change(run, publisher.manifest)
    publisher.sign(trends=trends)
    with pytest.raises(VerificationFailed, match=message):
        verify(run, folder)
