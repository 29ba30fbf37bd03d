"""Homes that earlier versions made: unpacked, asked again by their operators, and described.

`facts.json` of an archive says what was known of its homes when they were made.
"""

import difflib
import hashlib
import json
import shutil
import tarfile
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from flows.cli.main import app
from hybriddp.device.file import AccountFile
from tasks.ledger.ledger import Ledger
from tasks.ledger.rules import Kind
from tasks.products.clusters.draws import identify as identify_clusters
from tasks.products.clusters.request import KMeansRequest
from tasks.products.files import writer_version
from tasks.products.head_list.request import ReleaseRequest
from tasks.products.head_list.run import identify as identify_head_list
from tasks.products.histograms.draws import identify as identify_histograms
from tasks.products.histograms.request import ZealousRequest
from tasks.products.mean.draws import identify as identify_mean
from tasks.products.mean.request import MeanRequest
from tasks.publish.publish import publish
from tasks.release.refusals import BudgetRefused
from tasks.release.reprocess import ReprocessRequest, run_reprocess
from tasks.release.walk import run_release
from tasks.store.home import Home
from tasks.verify.manifest import code_version
from tasks.verify.signatures import read_public_key
from tasks.verify.verify import own_measurements, verify_release
from tests.release.support import files_below

# How each kind of release is asked for, found and run.
PRODUCTS: dict[str, tuple[Any, Any, Any]] = {
    "head list": (ReleaseRequest, identify_head_list, run_release),
    "histograms": (ZealousRequest, identify_histograms, run_release),
    "mean": (MeanRequest, identify_mean, run_release),
    "clusters": (KMeansRequest, identify_clusters, run_release),
}
# Everything that spends or draws.
_PAID = (Kind.RESERVED, Kind.DRAW_STARTED, Kind.DRAWN)
# Where requests name files, which lie beside the homes.
_FILES = ("log", "roster", "reports", "blocklist")
# What a manifest says of the moment at which it was made, and of the version that made it.
_OF_ITS_TIME = ("created", "expires", "code_version", "files", "ledger")


def unpack(version: str, folder: Path) -> Path:
    """Unpack the homes of a version."""
    with tarfile.open(Path(__file__).with_name(f"home-{version}.tar.gz")) as archive:
        archive.extractall(folder, filter="data")
    return folder


@dataclass(frozen=True)
class OldHome:
    """A home that an earlier version made, and what was known of it then."""

    root: Path  # where the logs lie
    home: Home
    facts: Mapping[str, Any]

    def copied(self, folder: Path) -> "OldHome":
        """Return the same home in another place, for who changes it; logs are only read."""
        shutil.copytree(self.home.root, folder)
        return replace(self, home=Home.open(folder))

    @property
    def key(self) -> bytes:
        """The publisher's key."""
        return read_public_key(self.home.public / "signing.pub")

    def folder(self, name: str) -> Path:
        """Return where a release was published."""
        return self.home.root / self.facts["folders"][name]

    def files(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Return settings whose files are found wherever the home lies now."""
        named = {name: self.root / settings[name] for name in _FILES if settings.get(name)}
        return {**settings, **named}

    def find(self, name: str, **settings: object) -> Any:
        """Find the run of a release that its operator asks for again."""
        form, find, _ = PRODUCTS[self.product(name)]
        asked = self.files(self.facts["requests"][name] | settings)
        return find(form.model_validate(asked), self.home)

    def run_again(self, name: str, **settings: object) -> Path | None:
        """Ask for a release again, as its operator would."""
        *_, run = PRODUCTS[self.product(name)]
        folder: Path | None = run(self.find(name, **settings))
        return folder

    def product(self, name: str) -> str:
        """Return what kind of release it is."""
        return str(self.facts["products"].get(name, "head list"))

    def reprocess(self, name: str, **settings: object) -> Path:
        """Do the post-processing of a release again."""
        release_id = self.folder(name).name.partition(".")[0]
        request = ReprocessRequest(release_id=release_id, **self.files(settings))
        return run_reprocess(request, self.home)

    def payments(self) -> list[str]:
        """Return every row of the ledger that spends or draws."""
        return [entry.hash for entry in Ledger(self.home.ledger).entries() if entry.kind in _PAID]

    def measured(self) -> dict[str, bytes]:
        """Return the measurements, without what was derived from them."""
        found = files_below(self.home.measurements)
        return {name: data for name, data in found.items() if "/derived/" not in name}

    @property
    def has_our_words(self) -> bool:
        """Whether the same version made it: others may say the same in other words."""
        return bool(self.facts.get("code_version") == code_version())

    @property
    def has_our_writer(self) -> bool:
        """Whether the same library wrote it: others write the same rows in other bytes."""
        return bool(self.facts.get("writer") == writer_version())

    def require_replay(self, name: str, *, in_one_step: bool = False) -> None:
        """See that asking again gives the same bytes, even if they were lost, and is free.

        With `in_one_step` only the last step is run, which makes the files.
        """
        folder = self.home.root / self.facts["newest"][name]
        is_same_program = self.has_our_words and self.has_our_writer
        place = self.home.public if is_same_program else folder
        before, paid = files_below(place), self.payments()
        if is_same_program:  # another one would publish a revision instead
            shutil.rmtree(folder)
        run = self.find(name)
        found = publish(run, run.request.settings) if in_one_step else self.run_again(name)
        assert found == folder
        assert files_below(place) == before
        assert self.payments() == paid

    def require_refused(self, name: str) -> None:
        """See that what was refused is refused again, for the same reason, and nobody pays."""
        paid = self.payments()
        with pytest.raises(BudgetRefused, match=r"is not (published|drawn) again"):
            self.run_again(name)
        assert self.payments() == paid

    def require_publication(self, folder: Path, expected: Mapping[str, Any]) -> None:
        """See that a publication is the one that the version of then would have made."""
        found, known = described(folder), deepcopy(dict(expected))
        if not self.has_our_writer:
            for name in [name for name in known["files"] if name.endswith(".parquet")]:
                del found["files"][name], known["files"][name]
        if not self.has_our_words:  # a second guarantee of clients is stated since 0.3.0
            del found["files"]["label.md"], known["files"]["label.md"]
            found["manifest"].pop("second_guarantee", None)
            known["manifest"].pop("second_guarantee", None)
        require_same(found, known)

    def require_verified(self, name: str, *, by_the_key_alone: bool = False) -> None:
        """See that a folder verifies in the words of then."""
        found = self.verified(self.folder(name), by_the_key_alone=by_the_key_alone)
        known = deepcopy(self.facts["verify"][name]["key" if by_the_key_alone else "all"])
        if not self.has_our_words:  # then nobody compares the label with the manifest
            del found["checks"]["promise"], known["checks"]["promise"]
        require_same(found, known)

    def verified(self, folder: Path, *, by_the_key_alone: bool = False) -> dict[str, Any]:
        """Verify a folder at the moment of its release; return what `verify --json` prints then."""
        measurements = None if by_the_key_alone else own_measurements(self.home, folder, self.key)
        created = json.loads((folder / "manifest.json").read_bytes())["created"]
        manifest, checks = verify_release(
            folder, self.key, measurements=measurements, now=datetime.fromisoformat(created)
        )
        signed = {"release_id", "product", "locale", "epoch", "sequence"}
        found = {check.name: check.detail for check in checks}
        return {**manifest.model_dump(include=signed), "checks": found}

    def printed(self, *command: str) -> Any:
        """Return what a command prints for machines."""
        done = CliRunner().invoke(app, [*command, "--json", "--home", str(self.home.root)])
        assert done.exit_code == 0, done.output
        return json.loads(done.stdout)


def described(folder: Path) -> dict[str, Any]:
    """Return the hash of every file and what the manifest and the shelf say, whenever it is.

    Measurements are salted, so those of devices' reports have another hash whenever they are taken.
    """
    manifest = json.loads((folder / "manifest.json").read_bytes())
    latest = json.loads((folder.parent / "latest.json").read_bytes())
    files = {name: data for name, data in files_below(folder).items() if "manifest" not in name}
    if manifest["parameters"].get("clients") == "reports":
        del manifest["measurements"]["C"]
    return {
        "files": {name: hashlib.sha256(data).hexdigest() for name, data in files.items()},
        "manifest": {n: value for n, value in manifest.items() if n not in _OF_ITS_TIME},
        "row": manifest["ledger"]["seq"],
        "latest": {name: latest[name] for name in latest if name != "expires"},
    }


def remembered(account_file: Path, key: bytes) -> dict[str, Any]:
    """Return what a device remembers, of one curator."""
    account = AccountFile(account_file).read()
    return {
        "spent": account.spent.texts(),
        "sent": {charge.release_id: charge.report for charge in account.charges},
        "opted_in": [[str(opt_in.since), str(opt_in.until)] for opt_in in account.opt_ins],
        "named_cap": account.named_caps[key.hex()].texts(),
    }


def require_same(found: Any, expected: Any) -> None:
    """See that both say the same to the last digit: 1 is not 1.0."""
    texts = [json.dumps(value, indent=1, sort_keys=True) for value in (expected, found)]
    changes = difflib.unified_diff(*(text.splitlines() for text in texts), "then", "now", n=1)
    assert texts[0] == texts[1], "\n".join(changes)
