"""What `make_home_0_2_0.py` makes homes with: logs, and a home that remembers what it does."""

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import tasks.kmeans_steps
import tasks.mean_steps
import tasks.steps
import tasks.zealous_steps
from tasks.home import Home
from tasks.keys import make_keys
from tasks.manifest import code_version
from tasks.release_files import writer_version

from tasks.ledger import Ledger
from tasks.publish import published_folder
from tests.clusters import support as clusters
from tests.compatibility.old_homes import OldHome, described
from tests.mean import support as mean
from tests.release import support as release
from tests.zealous import support as zealous

# Few people, so that the archive is small, and so much epsilon that lists are not empty.
N_PEOPLE, N_OPTIN, N_DEVICES = 300, 180, 60
# Odd spellings are people, too.
PEOPLE = [*map(str, range(N_PEOPLE)), "jose\u0301"]
QUERIES = ("weather", "news", "maps", "k\u00f6ln wetter")
STEPS = {
    "head list": tasks.steps,
    "histograms": tasks.zealous_steps,
    "mean": tasks.mean_steps,
    "clusters": tasks.kmeans_steps,
}
# One change of each publication whose bytes later versions must give, too.
REVISIONS = {
    "published": {"decimals": 3},
    "paper": {"decimals": 5},
    "histograms": {"blocklist": "blocklist.txt"},
    "mean_by": {"decimals": 2},
    "one_number": {"decimals": 3},
    "clusters": {"decimals": 2},
}


def write_logs(root: Path) -> None:
    """Write everything that people did."""
    rows = [release.COLUMNS]
    for number, person in enumerate(PEOPLE):
        for other in range(1 + number % 2):
            query = QUERIES[(number + other) % len(QUERIES)]
            url = f"http://{query[:4]}.{'org' if number % 5 == 0 else 'com'}"
            is_in = int(number < N_OPTIN)
            rows.append(f"{person}\t{query}\t2026-11-1{number % 5} 00:00:00\t1\t{url}\t{is_in}")
    (root / "searches.tsv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    (root / "blocklist.txt").write_text("maps\nnews today\n")
    zealous.N_PEOPLE = 120
    zealous.popular_log(root / "sessions.tsv")
    mean.N_PEOPLE = 120
    mean.write_numbers(root / "numbers.csv", mean.usual_rows())
    mean.write_roster(root / "roster.csv", mean.usual_people())
    clusters.CLOUDS = tuple((x, y, n_people // 25) for x, y, n_people in clusters.CLOUDS)
    clusters.write_points(root / "points.csv")


def die(*_: object, **__: object) -> None:
    """End in the middle of something."""
    raise SystemExit


@contextmanager
def instead(module: Any, name: str, function: Callable[..., Any]) -> Iterator[None]:
    """Let a module do something else; what dies of it is meant to."""
    real = getattr(module, name)
    setattr(module, name, function)
    try:
        yield
    except SystemExit:
        pass
    finally:
        setattr(module, name, real)


class Maker:
    """A home in the making, and what is known of it."""

    def __init__(self, root: Path, name: str) -> None:
        home = Home.create(root / name)
        make_keys(home)
        self.facts: dict[str, Any] = {
            "code_version": code_version(),
            "writer": writer_version(),
            "requests": {},
            "products": {},
            "folders": {},
        }
        self.old = OldHome(root, home, self.facts)
        self.home = home

    def ask(self, name: str, usual: dict[str, Any], **settings: object) -> None:
        """Remember what an operator asks for."""
        kinds = {"sessions.tsv": "histograms", "numbers.csv": "mean", "points.csv": "clusters"}
        self.facts["requests"][name] = usual | settings
        self.facts["products"][name] = kinds.get(usual["log"], "head list")

    def publish(self, name: str, usual: dict[str, Any], **settings: object) -> Path:
        """Make a release, to its end."""
        self.ask(name, usual, **settings)
        folder = self.old.run_again(name)
        assert folder is not None
        self.place(name, folder)
        return folder

    def place(self, name: str, folder: Path) -> None:
        """Remember where something was published."""
        self.facts["folders"][name] = str(folder.relative_to(self.home.root))

    def draw(self, name: str, usual: dict[str, Any], **settings: object) -> None:
        """Make a release, and stop when everything is drawn."""
        self.ask(name, usual, **settings)
        with instead(STEPS[self.old.product(name)], "publish", lambda *_: None):
            self.old.run_again(name)

    def expect(self, change: Callable[[OldHome], Path | None]) -> dict[str, Any]:
        """Return what a change would publish, and make it in a copy only."""
        folder = self.old.root.with_name("copy")
        try:
            published = change(self.old.copied(folder))
            assert published is not None
            return described(published)
        finally:
            shutil.rmtree(folder)

    def finish(self, people: list[str]) -> dict[str, Any]:
        """Look at the home as its operator would, and return all that is known of it."""
        self.home.drop_warehouses()
        old, facts = self.old, self.facts
        facts["newest"] = {  # which a replay gives
            name: str(published_folder(self.old.find(name)).relative_to(self.home.root))
            for name in facts["requests"]
            if name in facts["folders"]
        }
        revisions = {name: REVISIONS[name] for name in REVISIONS if name in facts["folders"]}
        facts["reprocessed"] = {
            name: {"settings": s, "gives": self.expect(lambda o, n=name, s=s: o.reprocess(n, **s))}
            for name, s in revisions.items()
        }
        facts["verify"] = {
            name: {
                "all": old.verified(old.folder(name)),
                "key": old.verified(old.folder(name), by_the_key_alone=True),
            }
            for name in facts["folders"]
        }
        for name, verified in facts["verify"].items():  # `--json` prints the same
            folder, key = str(old.folder(name)), str(self.home.public / "signing.pub")
            assert old.printed("verify", folder) == verified["all"]
            assert old.printed("verify", folder, "--key", key) == verified["key"]
        facts["balances"] = {person: old.printed("ledger", "balance", person) for person in people}
        facts["ledger_show"] = old.printed("ledger", "show")
        facts["ledger_verify"] = old.printed("ledger", "verify")
        facts["head"] = Ledger(self.home.ledger).verify().hash
        return facts
