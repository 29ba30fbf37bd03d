"""A home that version 0.1.0 made still verifies, replays, goes on, and counts in the budget."""

import json
import shutil
import tarfile
from datetime import datetime
from pathlib import Path
from types import SimpleNamespace

import pytest

from tasks.home import Home
from tasks.kmeans import identify as identify_clusters
from tasks.kmeans_request import KMeansRequest
from tasks.kmeans_steps import run_kmeans
from tasks.ledger import Ledger
from tasks.ledger_rules import Kind
from tasks.mean import identify as identify_mean
from tasks.mean_request import MeanRequest
from tasks.mean_steps import run_mean
from tasks.overview import balance, runway
from tasks.refusals import BudgetRefused
from tasks.reprocess import ReprocessRequest, run_reprocess
from tasks.request import ReleaseRequest
from tasks.run import identify
from tasks.signatures import read_public_key
from tasks.steps import run_release
from tasks.verify import VerificationFailed, own_measurements, verify_release
from tasks.zealous import identify as identify_histograms
from tasks.zealous_request import ZealousRequest
from tasks.zealous_steps import run_zealous
from tests.release.support import files_below

ARCHIVE = Path(__file__).with_name("home-0.1.0.tar.gz")
# How each kind of release of that home is asked for, found and run.
PRODUCTS = {
    "histograms": (ZealousRequest, identify_histograms, run_zealous),
    "mean": (MeanRequest, identify_mean, run_mean),
    "clusters": (KMeansRequest, identify_clusters, run_kmeans),
}
HEAD_LISTS = ["published", "paper", "latest", "collected"]
PUBLISHED = [*HEAD_LISTS, *PRODUCTS]
# Everything that spends or draws.
PAID = (Kind.RESERVED, Kind.DRAW_STARTED, Kind.DRAWN)


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory) -> Path:
    root = tmp_path_factory.mktemp("old")
    with tarfile.open(ARCHIVE) as archive:
        archive.extractall(root, filter="data")
    return root


@pytest.fixture
def old(unpacked, tmp_path) -> SimpleNamespace:
    """A copy of the home, and what was known of it when it was made."""
    root = tmp_path / "old"
    shutil.copytree(unpacked, root)
    facts = json.loads((root / "facts.json").read_text())
    return SimpleNamespace(root=root, home=Home.open(root / "home"), **facts)


def run_again(old, name: str, **settings: object) -> Path | None:
    """Ask for a release of the old home again, as its operator would."""
    form, find, run = PRODUCTS.get(name, (ReleaseRequest, identify, run_release))
    asked = old.requests[name] | settings
    if asked.get("clients") == "reports":  # which version 0.1.0 ignored there
        asked.pop("optin_fraction")
    for field in ("log", "roster", "reports"):
        if asked.get(field):
            asked[field] = old.root / asked[field]
    return run(find(form.model_validate(asked), old.home))


def payments(home: Home) -> list[str]:
    return [entry.hash for entry in Ledger(home.ledger).entries() if entry.kind in PAID]


@pytest.mark.parametrize("name", [*PUBLISHED, "revised"])
def test_a_published_folder_verifies_with_its_measurements(old, name):
    folder = old.home.root / old.folders[name]
    key = read_public_key(old.home.public / "signing.pub")
    measurements = own_measurements(old.home, folder, key)
    now = datetime.fromisoformat(json.loads((folder / "manifest.json").read_bytes())["created"])
    _, checks = verify_release(folder, key, measurements=measurements, now=now)
    assert checks[-1].name == "recomputed"


def test_a_withdrawn_folder_is_still_refused(old):
    [folder] = [path.parent for path in old.home.public.glob("search/*/*/withdrawn.json")]
    key = read_public_key(old.home.public / "signing.pub")
    with pytest.raises(VerificationFailed, match="taken down by its publisher"):
        verify_release(folder, key, may_be_expired=True)
    other = old.home.root / old.folders["latest"]
    for name in ("withdrawn.json", "withdrawn.sig"):
        shutil.copy(folder / name, other / name)
    with pytest.raises(VerificationFailed, match="notice of something else"):
        verify_release(other, key, may_be_expired=True)


@pytest.mark.parametrize("name", PUBLISHED)
def test_a_replay_gives_the_same_bytes_and_pays_nothing(old, name):
    # What was revised is shown as it was revised.
    folder = old.home.root / old.folders["revised" if name == "published" else name]
    before, paid = files_below(folder), payments(old.home)
    assert run_again(old, name) == folder
    assert files_below(folder) == before
    assert payments(old.home) == paid


def test_a_drawn_release_is_published_from_what_was_drawn(old):
    before = files_below(old.home.measurements)
    folder = run_again(old, "drawn")
    assert folder is not None
    assert (folder / "manifest.json").exists()
    after = files_below(old.home.measurements)
    assert {name: after[name] for name in before} == before


def test_reports_on_an_old_package_are_taken(old):
    folder = run_again(old, "collecting", reports="reports-collecting.jsonl")
    manifest = json.loads((folder / "manifest.json").read_bytes())
    assert manifest["guarantees"]["C"]["people"] == 60


@pytest.mark.parametrize("name", ["withheld", "withdrawn", "burnt"])
def test_what_was_refused_is_still_refused(old, name):
    paid = payments(old.home)
    with pytest.raises(BudgetRefused):
        run_again(old, name)
    assert payments(old.home) == paid


def test_reprocessing_is_free(old):
    paid, release_id = payments(old.home), Path(old.folders["published"]).name
    folder = run_reprocess(ReprocessRequest(release_id=release_id, decimals=3), old.home)
    assert json.loads((folder / "manifest.json").read_bytes())["decimals"] == 3
    assert payments(old.home) == paid


def test_what_people_spent_still_counts(old):
    assert [runway(old.home).largest.epsilon, runway(old.home).largest.delta] == old.largest
    for person, spent in old.balances.items():
        found = balance(old.home, person)
        assert [found.spent.epsilon, found.spent.delta] == spent
    assert balance(old.home, "7").is_stopped
    assert balance(old.home, "8").is_stopped
    head = Ledger(old.home.ledger).verify()
    assert old.head in {entry.hash for entry in Ledger(old.home.ledger).entries()}
    assert head.seq >= len(payments(old.home))
