"""A season block that cannot be true is refused, although the publisher's own key signed it."""

import copy
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from tasks.ledger.charges import Charge
from tasks.ledger.rules import Kind
from tasks.products.head_list import JOINING
from tasks.products.head_list.series.request import week_prices
from tasks.publish.publish import published_folder
from tasks.verify.checks import VerificationFailed
from tasks.verify.found import Source
from tasks.verify.manifest import SCHEMA_VERSION
from tasks.verify.verify import own_measurements, verify_release
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


def key_of(run: Any) -> bytes:
    return bytes.fromhex((run.home.public / "signing.pub").read_text())


def verify(run: Any, folder: Path) -> None:
    verify_release(folder, key_of(run), measurements=run.folder)


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


def another_week_before(_run: Any, manifest: dict[str, Any]) -> None:
    [week] = manifest["season"]["earlier"]
    week["measurements"]["S"] = "0" * 64


def other_people_before(_run: Any, manifest: dict[str, Any]) -> None:
    [week] = manifest["season"]["earlier"]
    week["people"] = 60


NOT_RESERVED = {
    "other people before": (other_people_before, "season"),
    "another name": (setting("parameters", "series", to="daily"), "parameters"),
    "a week less": (setting("season", "earlier", to=[]), "season"),
    "a week that was not drawn": (setting("season", "unseen", to=[1]), "season"),
    "another draw": (another_week_before, "season"),
    "tests that nobody reserved": (higher_thresholds, "guarantees, season"),
    "no season": (lambda _run, manifest: manifest.pop("season"), "season"),
}


@pytest.mark.parametrize(("change", "fields"), NOT_RESERVED.values(), ids=NOT_RESERVED)
def test_a_season_that_was_not_reserved_is_refused_beside_the_ledger(run, change, fields):
    folder = published_folder(run)
    publisher = Publisher(run, folder)
    own_measurements(run.home, folder, key_of(run))
    change(run, publisher.manifest)
    publisher.sign()
    with pytest.raises(VerificationFailed, match=f"something else of {fields} than"):
        own_measurements(run.home, folder, key_of(run))


@pytest.mark.parametrize("hidden", ["maps", "weather"])
def test_beside_the_ledger_nothing_is_hidden_or_shown_but_what_it_says(run, hidden):
    """Whoever has the key may say that something is blocked; who has no ledger must believe it."""
    folder, blocked = published_folder(run), frozenset({hidden})
    as_signed, as_forged = Source(run.folder, frozenset()), Source(run.folder, blocked)
    verify_release(folder, key_of(run), measurements=as_signed)
    with pytest.raises(VerificationFailed, match="beyond those that were blocked"):
        verify_release(folder, key_of(run), measurements=as_forged)
    publisher = Publisher(run, folder)
    settings = run.state.find(Kind.PUBLISHED).payload.settings
    made = run.product.make(run, settings, blocked, SCHEMA_VERSION)
    publisher.manifest |= made.facts
    publisher.sign(**made.tables)
    for source in (as_forged, run.folder):
        verify_release(folder, key_of(run), measurements=source)
    with pytest.raises(VerificationFailed, match="beyond those that were blocked"):
        verify_release(folder, key_of(run), measurements=as_signed)


def test_beside_the_ledger_no_change_is_hidden_of_what_is_listed(run):
    folder = published_folder(run)
    publisher = Publisher(run, folder)
    publisher.manifest["season"]["hidden_changes"] = len(publisher.rows("changes"))
    publisher.sign(changes=publisher.table("changes", []))
    verify(run, folder)
    with pytest.raises(VerificationFailed, match="changes are missing beyond"):
        verify_release(folder, key_of(run), measurements=Source(run.folder, frozenset()))


def test_a_list_is_settled_where_devices_are_asked_and_nowhere_else(run):
    """Whoever has no ledger sees this much of who was asked."""
    folder = published_folder(run)
    publisher = Publisher(run, folder)
    publisher.manifest["parameters"]["clients"] = "reports"
    publisher.sign(trends=pq.read_table(folder / "trends.parquet"))
    with pytest.raises(VerificationFailed, match="settled where devices are asked"):
        verify(run, folder)
