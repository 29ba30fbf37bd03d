"""How `home-0.1.0.tar.gz` was made, with the code of version 0.1.0 (commit 5d033e1).

Later versions cannot run this, and need not: it says what is in the home that they must still read.
"""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import tasks.measurements
import tasks.steps
from tasks.home import Home
from tasks.keys import make_keys, read_public_key
from tasks.kmeans import identify as identify_kmeans
from tasks.kmeans_steps import run_kmeans
from tasks.ledger_rules import Kind
from tasks.mean import identify as identify_mean
from tasks.mean_steps import run_mean
from tasks.overview import balance, runway, set_membership
from tasks.policy import Policy, set_policy
from tasks.reprocess import ReprocessRequest, run_reprocess
from tasks.run import identify
from tasks.steps import run_release
from tasks.withdraw import withdraw
from tasks.zealous import identify as identify_zealous
from tasks.zealous_steps import run_zealous

from hybriddp.device import Device
from tasks.ledger import Ledger
from tasks.publish import publish, withhold
from tests.clusters import support as clusters
from tests.mean import support as mean
from tests.release import support as release
from tests.zealous import support as zealous

root = Path(sys.argv[1])
home = Home.open(root / "home")
make_keys(home)
set_policy(Ledger(home.ledger), Policy.of("500", "0.01", None))
requests: dict[str, Any] = {}
folders: dict[str, Path] = {}


def ask(name: str, make: Callable[..., Any], log: Path, **settings: object) -> Any:
    """Make a request, and remember it."""
    request = make(log, **settings)
    requests[name] = request.model_dump(mode="json") | {"log": log.name}
    if request.roster:
        requests[name]["roster"] = request.roster.name
    return request


def head_list(name: str, epoch: str, **settings: object) -> Any:
    """Find the run of a head list whose log says who opted in."""
    return identify(ask(name, release.request_by_column, log, epoch=epoch, **settings), home)


people = [*map(str, range(400)), "jose\u0301"]
log = release.write_log(root / "searches.tsv", people, people[:200])
done = head_list("published", "2026-W40")
folders["published"] = run_release(done)
again = ReprocessRequest(release_id=done.release_id, decimals=4)
folders["revised"] = run_reprocess(again, home)
taken_back = head_list("withdrawn", "2026-W41")
run_release(taken_back)
withdraw(home, taken_back.release_id, "a mistake")
tasks.steps.publish = lambda run, _: withhold(run, "not this one")
run_release(head_list("withheld", "2026-W42"))
tasks.steps.publish = lambda *_: None
run_release(head_list("drawn", "2026-W38"))
tasks.steps.publish = publish


def die(*_: object, **__: object) -> None:
    """End inside a draw."""
    raise SystemExit


write_whole, tasks.measurements.write_whole = tasks.measurements.write_whole, die
try:
    run_release(head_list("burnt", "2026-W43"))
except SystemExit:
    tasks.measurements.write_whole = write_whole
release.charge(head_list("reserved", "2026-W39"))

key = read_public_key(home.public / "signing.pub")
with_devices = {"clients": "reports", "min_agreement": 0}
collecting = head_list("collecting", "2026-W44", **with_devices)
everybody = ask(
    "collected", release.request_for, log, epoch="2026-W44", product="devices", **with_devices
)
(root / "accounts").mkdir()
for name, run in {"collecting": collecting, "collected": identify(everybody, home)}.items():
    assert run_release(run) is None
    devices = [Device(root / "accounts" / f"{name}-{number}", key) for number in range(60)]
    held = [("weather", "http://weather.com")]
    lines = [device.report(home.collection(run.release_id), held) for device in devices]
    (root / f"reports-{name}.jsonl").write_bytes(b"".join(lines))
for path in (root / "accounts").iterdir():
    if path.name not in {"collecting-0", "collecting-1", "collecting-2"}:
        path.unlink()
everybody = everybody.model_copy(update={"reports": root / "reports-collected.jsonl"})
folders["collected"] = run_release(identify(everybody, home))
folders["paper"] = run_release(head_list("paper", "2026-W45", strategy="paper"))
folders["latest"] = run_release(head_list("latest", "2026-W46"))

histograms = ask("histograms", zealous.request_for, zealous.popular_log(root / "sessions.tsv"))
folders["histograms"] = run_zealous(identify_zealous(histograms, home))
numbers = mean.write_numbers(root / "numbers.csv", mean.usual_rows())
roster = mean.write_roster(root / "roster.csv", mean.usual_people())
means = ask("mean", mean.request_for, numbers, roster=roster, by="country")
folders["mean"] = run_mean(identify_mean(means, home))
clusters.CLOUDS = tuple((x, y, n_people // 4) for x, y, n_people in clusters.CLOUDS)
points = ask("clusters", clusters.request_for, clusters.write_points(root / "points.csv"))
folders["clusters"] = run_kmeans(identify_kmeans(points, home))

set_membership(home, "7", Kind.OPTED_OUT)
set_membership(home, "8", Kind.ERASED)
home.drop_warehouses()
largest, some = runway(home).largest, ("0", "7", "300", "jose\u0301")
balances = {person: balance(home, person).spent for person in some}
facts = {
    "requests": requests,
    "folders": {name: str(folder.relative_to(home.root)) for name, folder in folders.items()},
    "largest": [largest.epsilon, largest.delta],
    "balances": {person: [spent.epsilon, spent.delta] for person, spent in balances.items()},
    "head": Ledger(home.ledger).verify().hash,
}
(root / "facts.json").write_text(json.dumps(facts, indent=1, sort_keys=True))
