"""How `home-0.2.0.tar.gz` was made, with the code of version 0.2.0 before it got rooms.

    python -m tests.compatibility.make_home_0_2_0 EMPTY_FOLDER

Later versions cannot run this, and need not: it says what is in the homes that they must still
read. There are two, because a home has devices that report, or charges people who did not opt in.
"""

import json
import shutil
import sys
import tarfile
from datetime import date
from pathlib import Path
from typing import Any

import tasks.measurements
import tasks.steps
from hybriddp.curator import Loss
from tasks.keys import open_for_writing
from tasks.ledger_rules import Kind
from tasks.overview import set_membership
from tasks.policy import Policy, set_policy
from tasks.reserve import void_reservation
from tasks.withdraw import withdraw

from hybriddp.client import Client
from hybriddp.device import Device
from tasks.publish import withhold
from tests.clusters import support as clusters
from tests.compatibility.home_maker import N_DEVICES, QUERIES, Maker, die, instead, write_logs
from tests.compatibility.old_homes import remembered
from tests.mean import support as mean
from tests.release import support as release

HEAD_LIST = {
    "headlist_user_fraction": 0.75,
    "epsilon": 8.0,
    "ignore_plan": True,
    "columns": {"optin": "optin", "time": None},
    "min_agreement": 0,
    "log": "searches.tsv",
}
ITEMS = {"log": "sessions.tsv", "epoch": "2026-W46", "epsilon": 24.0, "ignore_plan": True}
NUMBERS = {
    "log": "numbers.csv",
    "epoch": "2026-W46",
    "column": "dwell",
    "upper": 10.0,
    "epsilon": 4.0,
    "optin_fraction": 0.4,
    "columns": {"person": "user", "time": None},
    "min_agreement": 0,
}
POINTS = {
    "log": "points.csv",
    "epoch": "2026-W46",
    "points": [
        {"column": "visits", "upper": clusters.UPPERS[0]},
        {"column": "seconds", "upper": clusters.UPPERS[1], "per_person": "mean"},
    ],
    "n_clusters": 3,
    "epsilon": 24.0,
    "optin_fraction": 0.5,
    "columns": {"person": "user", "time": None},
}


def make_simulated(root: Path) -> dict[str, Any]:
    """Make the home whose clients are simulated, with everything that can become of a release."""
    made = Maker(root, "simulated")
    home, ledger = made.home, open_for_writing(made.home)
    set_policy(ledger, Policy.of("600", "0.01", None))
    make_head_lists(made)
    # Nearly for life: what counts in the window must not depend on when somebody looks.
    set_policy(ledger, Policy.of("500", "0.01", 36_500, max_refusals=12))
    made.publish("rotated", HEAD_LIST, product="rotated", epoch="2026-W45", rotation=2)
    set_membership(home, "8", Kind.ERASED)
    set_membership(home, "170", Kind.OPTED_IN)
    with_times = {"optin": "optin"}
    made.publish("latest", HEAD_LIST, epoch="2026-W46", columns=with_times, max_records_optin=2)
    make_other_products(made)
    made.facts["drawn"] = {
        name: made.expect(lambda old, name=name: old.run_again(name))
        for name in ("drawn", "drawn_histograms", "drawn_mean", "drawn_clusters")
    }
    return made.finish(["7", "8", "170", "250", mean.SECRET_PERSON, "nobody"])


def make_head_lists(made: Maker) -> None:
    """Make the head lists, of one week each."""
    made.publish("published", HEAD_LIST, epoch="2026-W30")
    made.place("revised", made.old.reprocess("published", decimals=4))
    made.publish("paper", HEAD_LIST, epoch="2026-W29", strategy="paper")
    for person in ("7", "170", "250"):
        set_membership(made.home, person, Kind.OPTED_OUT)
    made.publish("withdrawn", HEAD_LIST, epoch="2026-W31")
    withdraw(made.home, made.old.find("withdrawn").release_id, "a mistake")
    made.facts["taken_down"] = {"withdrawn": made.facts["folders"].pop("withdrawn")}
    made.ask("withheld", HEAD_LIST, epoch="2026-W32")
    with instead(tasks.steps, "publish", lambda run, _: withhold(run, "not this one")):
        made.old.run_again("withheld")
    for number, name in enumerate(("burnt", "retried")):
        made.ask(name, HEAD_LIST, epoch=f"2026-W{33 + number}")
        with instead(tasks.measurements, "write_whole", die):
            made.old.run_again(name)
    made.place("retried", made.old.run_again("retried", new_attempt=True))
    for number, name in enumerate(("reserved", "voided")):
        made.ask(name, HEAD_LIST, epoch=f"2026-W{35 + number}")
        release.charge(made.old.find(name))
    void_reservation(made.home, made.old.find("voided").release_id)
    made.ask("half_drawn", HEAD_LIST, epoch="2026-W37", accept_collapse=True)
    with instead(tasks.steps, "draw_optin_histogram", die):
        made.old.run_again("half_drawn")
    made.draw("drawn", HEAD_LIST, epoch="2026-W38")
    made.publish(
        "two_stage", HEAD_LIST, epoch="2026-W40", client_report="two-stage", locale="de-DE"
    )
    made.publish("blocked", HEAD_LIST, epoch="2026-W41", blocklist="blocklist.txt")
    named = made.publish("blocked_later", HEAD_LIST, epoch="2026-W42")
    made.facts["taken_down"]["blocked_later"] = str(named.relative_to(made.home.root))
    made.place(
        "blocked_later", made.old.reprocess("blocked_later", blocklist=Path("blocklist.txt"))
    )


def make_other_products(made: Maker) -> None:
    """Make histograms, means in all their forms, and clusters."""
    made.publish("histograms", ITEMS)
    made.publish(
        "words", ITEMS, product="words", histograms=["keywords"], relaxation="indistinguishable",
        items_per_user=2, epsilon=8.0, blocklist="blocklist.txt",
    )  # fmt: skip
    made.draw("drawn_histograms", ITEMS, product="drawn", histograms=["queries", "clicks"])
    by_country = {"roster": "roster.csv", "by": "country"}
    made.publish("mean_by", NUMBERS, product="mean-by", **by_country)
    made.publish("mean", NUMBERS, per_person="count", report="laplace", weight="known-variance",
                 known_sd=2.0)  # fmt: skip
    made.publish("one_number", NUMBERS, product="one-number", one_number=True)
    made.publish("bits", NUMBERS, product="bits", per_person="max", report="bit", weight="privacy")
    made.publish("window", NUMBERS, product="window", report="window", weight="naive")
    made.draw("drawn_mean", NUMBERS, product="drawn-mean", per_person="mean")
    made.publish("clusters", POINTS)
    made.draw("drawn_clusters", POINTS, product="drawn-clusters", debias=False, n_iterations=2)


def make_devices(root: Path) -> dict[str, Any]:
    """Make the home whose clients are devices, and some of the devices."""
    made = Maker(root, "devices")
    usual = HEAD_LIST | {"clients": "reports", "epsilon": 3.0}
    made.ask("collected", usual, epoch="2026-W44", blocklist="blocklist.txt")
    made.ask("collected_paper", usual, epoch="2026-W44", product="paper", strategy="paper")
    made.ask("collecting", usual, epoch="2026-W45")
    # Another list for the same week: whoever reported on one does not report on the other.
    other = {"epsilon": 2.0, "pay_again": True, "accept_collapse": True}
    made.ask("collecting_again", usual, epoch="2026-W45", **other)
    for name in made.facts["requests"]:
        assert made.old.run_again(name) is None
    made.facts["packages"] = {
        name: str(package_of(made, name).relative_to(made.home.root))
        for name in made.facts["requests"]
    }
    (root / "accounts").mkdir()
    for name in ("collecting", "collected", "collected_paper"):
        devices = [device_of(made, f"{name}-{number}") for number in range(N_DEVICES)]
        lines = [
            device.report(package_of(made, name), [(query, f"http://{query[:4]}.com")])
            for device, query in zip(devices, QUERIES * N_DEVICES, strict=False)
        ]
        (root / f"reports-{name}.jsonl").write_bytes(b"".join(lines))
    for name in ("collected", "collected_paper"):
        reports = f"reports-{name}.jsonl"
        made.publish(name, made.facts["requests"][name], reports=reports)
    for path in (root / "accounts").iterdir():
        path.unlink()
    made.facts["devices"] = make_accounts(made)
    made.facts["collecting"] = made.expect(
        lambda old: old.run_again("collecting", reports="reports-collecting.jsonl")
    )
    return made.finish(["jose\u0301", "0"])


def package_of(made: Maker, name: str) -> Path:
    """Return the folder of a release's package."""
    return made.home.collection(made.old.find(name).release_id)


def device_of(made: Maker, name: str) -> Device:
    """Return a device of this name."""
    return Device(made.old.root / "accounts" / name, made.old.key)


def make_accounts(made: Maker) -> dict[str, Any]:
    """Let a few devices live, and return what each remembers."""
    held = [("weather", "http://weat.com")]
    collecting, collected = (package_of(made, name) for name in ("collecting", "collected"))
    cap = Loss("12", "1/10000")
    device_of(made, "reported").report(collecting, held)
    device_of(made, "both").report(collecting, held)
    device_of(made, "both").report(collected, held)
    with instead(Client, "report", die):
        device_of(made, "lost").report(collecting, held)
    device_of(made, "opted_in").opt_in(date(2026, 11, 2), cap)
    device_of(made, "opted_out").opt_in(date(2026, 10, 1), cap)
    device_of(made, "opted_out").opt_out(date(2026, 11, 10))
    for path in (made.old.root / "accounts").glob("*.lock"):
        path.unlink()
    accounts = sorted((made.old.root / "accounts").iterdir())
    return {path.name: remembered(path, made.old.key) for path in accounts}


def main(root: Path) -> None:
    """Make both homes, see that they may lie anywhere, and pack them."""
    folder = root / "made"
    folder.mkdir(parents=True)
    write_logs(folder)
    homes = {"simulated": make_simulated(folder), "devices": make_devices(folder)}
    for name in homes:  # this process still holds its copies of the log
        shutil.rmtree(folder / name / "private" / "warehouse")
    (folder / "facts.json").write_text(json.dumps(homes, indent=1, sort_keys=True))
    for path in folder.rglob("*"):
        assert not path.is_file() or str(root).encode() not in path.read_bytes(), path
    with tarfile.open(Path(__file__).with_name("home-0.2.0.tar.gz"), "w:gz", compresslevel=9) as to:
        to.add(folder, arcname=".")


if __name__ == "__main__":
    main(Path(sys.argv[1]).absolute())
