"""Real devices, real files: what 20,000 of them send is what the simulation would draw."""

import json
import os
import shutil
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from functools import cache
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from hybriddp.device import ed25519
from hybriddp.device.package import CollectionPackage, read_package
from hybriddp.device.reporting import Device
from hybriddp.params import Budget
from hybriddp.randomizers.laws import client_response
from hybriddp.randomizers.stages import TwoStageResponse
from hybriddp.randomizers.subset import SubsetResponse
from hybriddp.randomizers.two_stage import ClientMechanism
from tasks.gates.quality import GateRefused
from tasks.ledger.rules import Kind
from tasks.log.raw.files import BadInput
from tasks.measured.stored import measurement_path
from tasks.products.head_list import CLIENTS
from tasks.products.head_list.estimation.processing import published_listing
from tasks.products.head_list.measuring.reports import Tally, read_reports
from tasks.products.head_list.run import identify, params_of
from tasks.release.run import Release
from tasks.release.walk import run_release
from tasks.store.home import Home
from tasks.verify.signatures import read_public_key
from tests.docs.plainly import run_command
from tests.flow.logs import BLOCKED, POPULAR, write_searches
from tests.groups import FILES
from tests.homes import new_home
from tests.release.faults import run_child
from tests.release.support import QUERIES, files_below, request_for
from tests.stats import ALPHA, law_p_value

EPSILON = 2.0
# What devices hold, and how many hold it: a listed record, another url of a listed query, another
# query, nothing. The last two are on <*,*>.
HELD = {
    ("weather", "http://weather.com"): 8_000,
    ("news", "http://elsewhere.example"): 5_000,
    ("a rare question", "http://rare.example"): 4_000,
    None: 3_000,
}


def collecting_request(log: Path, **settings: object):
    # These devices are not like the opt-in people, and the cross-check would see it.
    asked = {"strategy": "paper", "epsilon": EPSILON, "min_agreement": 0, "clients": "reports"}
    opted_in = {"optin_fraction": None, "everybody_opted_in": True}
    return request_for(log, **asked | opted_in | settings)


@pytest.fixture(scope="module")
def collecting(log, fast_folder) -> tuple[Home, Path]:
    """A release that waits for reports: its home and its package's folder."""
    home = new_home(fast_folder / "collecting")
    assert run_release(identify(collecting_request(log), home)) is None
    [package] = (home.public / "collections").iterdir()
    return home, package


@pytest.fixture
def home_of_its_own(collecting, root) -> Home:
    """A copy of the home that waits for reports."""
    shutil.copytree(collecting[0].root, root / "copy")
    return new_home(root / "copy")


@pytest.fixture(scope="module")
def package(collecting) -> CollectionPackage:
    home, folder = collecting
    return read_package(folder, read_public_key(home.public / "signing.pub"))


def send_reports(folder: Path, key: bytes, held: list, n_devices: int, root: Path) -> None:
    """Let new devices report, each with an account of its own; in a process of its own."""
    # The package's one signature is checked once, and not by every device (15 ms each).
    verify = cache(ed25519.verify)
    # Each device waits for the disk four times: a minute or more for all of them, which says
    # nothing about the law of the reports. tests/device/test_device.py tests what is durable when.
    os.fsync = lambda _: None
    accounts = root / "accounts"
    accounts.mkdir(parents=True)
    lines = [
        Device(accounts / str(number), key, verify=verify).report(folder, held)
        for number in range(n_devices)
    ]
    (root / "reports").write_bytes(b"".join(lines))


@pytest.fixture(scope="module")
def sent(collecting, fast_folder) -> dict[tuple[str, str] | None, Path]:
    """One file of reports for each kind of device, all in one folder."""
    home, folder = collecting
    key = read_public_key(home.public / "signing.pub")
    devices, reports = fast_folder / "devices", fast_folder / "reports"
    reports.mkdir()

    def send(numbered: tuple[int, tuple]) -> Path:
        number, (record, n_devices) = numbered
        held, own = ([] if record is None else [record]), devices / str(number)
        assert run_child(send_reports, folder, key, held, n_devices, own) == 0
        names = {path.name for path in (own / "accounts").iterdir()}
        assert names >= set(map(str, range(n_devices)))
        return (own / "reports").rename(reports / f"{number}.jsonl")

    with ThreadPoolExecutor(max_workers=2) as pool:
        return dict(zip(HELD, pool.map(send, enumerate(HELD.items())), strict=True))


def response_at(package: CollectionPackage, factor: Fraction = Fraction(1)) -> TwoStageResponse:
    """Return the law of a device's report; `factor` multiplies its budget."""
    params = package.params
    sizes = [len(urls) + 1 for _, urls in package.head_list] + [1]
    budgets = (params.client_query_budget, params.client_url_budget)
    return TwoStageResponse.for_budgets(
        *(Budget(budget.epsilon * factor, budget.delta) for budget in budgets), sizes
    )


def law_of(package: CollectionPackage, record, factor: Fraction = Fraction(1)) -> np.ndarray:
    """Return the exact law of the report of a device that holds a record."""
    urls = dict(package.head_list)
    cell = (len(urls), 0)
    if record is not None and record[0] in urls:
        known = urls[record[0]]
        position = known.index(record[1]) if record[1] in known else len(known)
        cell = (list(urls).index(record[0]), position)
    return np.array(response_at(package, factor).pmf(*cell), dtype=float)


def counts_of(package: CollectionPackage, file: Path) -> np.ndarray:
    counts, tally = read_reports(file, package.release_id, response_at(package).n_cells, 1)
    assert tally.n_accepted == tally.n_reports_read
    return counts


@pytest.mark.long
@pytest.mark.statistical
@pytest.mark.parametrize("record", HELD, ids=str)
def test_devices_follow_the_law_of_the_simulation(package, sent, record):
    """False alarm: ALPHA = 1e-9 for each kind of device.

    Power: 3,000 devices, the fewest of a kind, tell a budget that is off by a quarter from the
    right one; the next test plants larger defects in what was observed.
    """
    observed = counts_of(package, sent[record])
    assert observed.sum() == HELD[record]
    law = law_of(package, record)
    p_value = law_p_value(observed, law)
    assert p_value > ALPHA, f"n {observed.sum()}, {observed} against {observed.sum() * law}"


def test_the_simulation_draws_from_the_law_of_the_devices(collecting, package):
    home, _ = collecting
    release = Release(home, package.release_id, 1)
    listing = published_listing(release)
    mechanism = ClientMechanism.for_head_list(listing.head_list, params_of(release))
    assert mechanism.response == response_at(package)


@pytest.mark.long
@pytest.mark.statistical
@pytest.mark.parametrize("record", HELD, ids=str)
def test_the_check_of_the_law_rejects_planted_defects(package, sent, record):
    observed = counts_of(package, sent[record])
    for factor in (Fraction(2), Fraction(1, 2)):
        assert law_p_value(observed, law_of(package, record, factor)) < ALPHA
    others = [law_of(package, other) for other in HELD]
    n_like = sum(law_p_value(observed, law) > ALPHA for law in others)
    assert n_like == (1 if record in list(HELD)[:2] else 2), "those on <*,*> look alike"
    unrandomized = np.zeros_like(observed)
    unrandomized[law_of(package, record).argmax()] = observed.sum()
    assert law_p_value(unrandomized, law_of(package, record)) < ALPHA


@pytest.mark.long
def test_the_release_goes_on_with_the_reports_and_seals_exactly_their_cells(
    home_of_its_own, log, package, sent
):
    home = home_of_its_own
    request = collecting_request(log, reports=sent[None].parent)
    folder = run_release(identify(request, home))
    [path] = home.measurements.glob(f"*/1/{FILES[CLIENTS]}")
    sealed = pq.read_table(path)
    assert sealed.column_names == ["cell", "n_reports"], "nothing but the cells is kept"
    total = sum(counts_of(package, file) for file in sent.values())
    assert sealed["n_reports"].to_pylist() == total.tolist()
    manifest = json.loads((folder / "manifest.json").read_bytes())
    assert manifest["guarantees"]["C"]["people"] == 20_000
    assert manifest["guarantees"]["C"]["trusts"] == "their own device"
    # Opt-in people give a third of their mass to each query; devices have the last word, being
    # many more: 40 % weather, 25 % news (with another url), 35 % others. Standard errors are
    # below 0.012; six of them fail by chance with probability below 1e-8.
    rows = (folder / "trends.jsonl").read_text().splitlines()
    trends = {row["query"]: row["probability"] for row in map(json.loads, rows)}
    assert sorted(trends) == sorted(QUERIES)
    assert trends["weather"] > trends["news"] + 0.05 > trends["maps"] + 0.1
    # Run again, with or without the reports, it is the same release.
    public = files_below(home.public)
    assert run_release(identify(collecting_request(log), home)) == folder
    assert files_below(home.public) == public


def test_a_release_that_collects_has_charged_the_opt_in_people_only(home_of_its_own, log):
    home = home_of_its_own
    run = identify(collecting_request(log), home)
    assert run_release(run) is None, "still collecting, however often it is asked"
    kinds = [(entry.kind, entry.draw) for entry in run.state.entries]
    assert kinds == [
        (Kind.RESERVED, ""), (Kind.DRAW_STARTED, "S"), (Kind.DRAWN, "S"), (Kind.LISTED, ""),
        (Kind.DRAW_STARTED, "T"), (Kind.DRAWN, "T"),
    ]  # fmt: skip
    [sealed] = home.participation.iterdir()
    assert set(pq.read_table(sealed)["cohort"].to_pylist()) == {"S", "T"}
    assert not (home.public / "search").exists()


def write_reports(path: Path, release_id: str, n_good: int, bad: list[object]) -> Path:
    """Write good reports with nonces 0, 1, ..., and then the bad ones: bytes, or changed fields."""
    lines = [
        json.dumps({"release_id": release_id, "nonce": f"{i:032x}", "cells": [i % 7]}).encode()
        for i in range(n_good)
    ]
    for number, change in enumerate(bad):
        if isinstance(change, dict):
            fields = {"release_id": release_id, "nonce": f"{10**6 + number:032x}", "cells": [0]}
            change = json.dumps(fields | change).encode()
        lines.append(change)
    path.write_bytes(b"\n".join(lines) + b"\n")
    return path


BAD = {
    "malformed": [
        b"not json", b"[]", b"null", b"{}", b"\xff\xfe", b"[" * 50_000, b"7" * 1_100_000,
        {"cells": []}, {"cells": [0, 0]}, {"cells": 0}, {"cells": [0.0]}, {"cells": [True]},
        {"cells": [-1]}, {"cells": ["0"]}, {"nonce": "0"}, {"nonce": "x" * 32}, {"nonce": 7},
        {"nonce": ["0"] * 32}, {"release_id": 7}, {"device": "a stable id"},
        {"nonce": "A" * 32}, {"nonce": "0" * 30 + "  "}, {"nonce": " " * 32},
    ],
    "duplicate": [{"nonce": f"{0:032x}"}, {"nonce": f"{1:032x}", "cells": [5]}],
    "foreign": [{"release_id": "0" * 32}, {"release_id": ""}],
    "out_of_list": [{"cells": [7]}, {"cells": [10**30]}],
}  # fmt: skip


@pytest.mark.parametrize("reason", BAD)
def test_a_bad_report_is_counted_by_its_reason_and_left_out(tmp_path, reason):
    file = write_reports(tmp_path / "reports", "a" * 32, 70, BAD[reason])
    counts, tally = read_reports(file, "a" * 32, 7, 1)
    n_bad = len(BAD[reason])
    expected = Tally(n_reports_read=70 + n_bad, n_accepted=70)
    setattr(expected, f"n_{reason}", n_bad)
    assert tally == expected
    assert counts.tolist() == [10] * 7


def test_a_line_is_one_report_however_long_it_is(tmp_path):
    """In pieces of a mebibyte, each of which would be a report."""
    reports = [
        json.dumps({"release_id": "a" * 32, "nonce": f"{i:032x}", "cells": [3]}).encode()
        for i in range(4)
    ]
    stuffed = b"".join(report.ljust(1 << 20) for report in reports[:3])
    (tmp_path / "reports").write_bytes(b"\n".join((stuffed, reports[3], stuffed)))
    counts, tally = read_reports(tmp_path / "reports", "a" * 32, 7, 1)
    assert tally == Tally(n_reports_read=3, n_accepted=1, n_malformed=2)
    assert counts.sum() == 1


def test_a_report_in_two_files_of_a_folder_counts_once(tmp_path):
    for name in ("monday", "tuesday"):
        write_reports(tmp_path / name, "a" * 32, 14, [])
    counts, tally = read_reports(tmp_path, "a" * 32, 7, 1)
    assert (tally.n_accepted, tally.n_duplicate) == (14, 14)
    assert counts.tolist() == [2] * 7


def test_reports_of_several_records_are_counted_cell_by_cell(tmp_path):
    line = {"release_id": "a" * 32, "nonce": "0" * 32, "cells": [2, 2, 6]}
    (tmp_path / "reports").write_text(json.dumps(line))
    counts, tally = read_reports(tmp_path / "reports", "a" * 32, 7, 3)
    assert tally.n_accepted == 1
    assert counts.tolist() == [0, 0, 2, 0, 0, 0, 1]


def test_reports_that_cannot_be_read_are_bad_input(tmp_path):
    with pytest.raises(BadInput, match="check the path"):
        read_reports(tmp_path / "nowhere", "a" * 32, 7, 1)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(BadInput, match="check the path"):
        read_reports(tmp_path / "pipe", "a" * 32, 7, 1)
    (tmp_path / "reports" / "of a person").mkdir(parents=True)
    with pytest.raises(BadInput, match="check the path") as caught:
        read_reports(tmp_path / "reports", "a" * 32, 7, 1)
    assert "of a person" not in str(caught.value), "names may say whose reports they are"


def test_too_many_bad_reports_stop_the_release_and_burn_nothing(home_of_its_own, log, package):
    """Exactly the limit passes; the reports can be cleaned and the release run again."""
    home, file = home_of_its_own, home_of_its_own.root / "reports"
    spoilt = write_reports(file, package.release_id, 94, BAD["foreign"] * 3)
    with pytest.raises(GateRefused):
        run_release(identify(collecting_request(log, reports=spoilt), home))
    run = identify(collecting_request(log, reports=file), home)
    assert not run.state.has(Kind.DRAW_STARTED, CLIENTS)
    assert not measurement_path(run, CLIENTS).exists()
    write_reports(file, package.release_id, 95, BAD["foreign"] * 2 + BAD["foreign"][:1])
    assert run_release(run) is not None
    assert sum(pq.read_table(measurement_path(run, CLIENTS))["n_reports"].to_pylist()) == 95


def test_reports_alone_that_are_all_bad_or_none_stop_the_release(home_of_its_own, log):
    file = home_of_its_own.root / "reports"
    for content in (b"", b"nothing\n"):
        file.write_bytes(content)
        with pytest.raises(GateRefused):
            run_release(identify(collecting_request(log, reports=file), home_of_its_own))


@pytest.mark.slow
def test_devices_report_sets_in_one_stage(log, fast_folder):
    """False alarm: ALPHA for each cell. Power: 400 devices tell twice the budget from the right."""
    home = new_home(fast_folder / "sets")
    asked = {"strategy": "high-utility", "epsilon": 1.0, "headlist_user_fraction": 1}
    assert run_release(identify(collecting_request(log, **asked), home)) is None
    [folder] = (home.public / "collections").iterdir()
    key, own = read_public_key(home.public / "signing.pub"), fast_folder / "devices of sets"
    record = ("weather", "http://weather.com")
    assert run_child(send_reports, folder, key, [record], 400, own) == 0
    package = read_package(folder, key)
    law = client_response(package.params, [2] * len(QUERIES) + [1])
    assert (law.n_values, law.size) == (7, 2)
    counts, tally = read_reports(own / "reports", package.release_id, 7, 2, are_sets=True)
    assert (tally.n_accepted, counts.sum()) == (400, 800)
    cell = 2 * sorted(QUERIES).index("weather")
    for other in range(7):
        chance = float(law.p_truth if other == cell else law.p_lie)
        observed = [counts[other], 400 - counts[other]]
        assert law_p_value(observed, [chance, 1 - chance]) > ALPHA
    twice = float(SubsetResponse.of_size(Budget(2), 7, 2).p_truth)
    assert law_p_value([counts[cell], 400 - counts[cell]], [twice, 1 - twice]) < ALPHA
    folder = run_release(identify(collecting_request(log, reports=own / "reports", **asked), home))
    manifest = json.loads((folder / "manifest.json").read_bytes())
    assert manifest["guarantees"]["C"]["people"] == 400
    assert manifest["guarantees"]["C"]["delta_atto"] == 0
    assert set(manifest["guarantees"]) == {"S", "C"}
    twins = {"release_id": package.release_id, "nonce": "0" * 32, "cells": [3, 3]}
    (own / "twins").write_text(json.dumps(twins))
    assert read_reports(own / "twins", package.release_id, 7, 2, are_sets=True)[1].n_malformed == 1


def test_a_release_whose_devices_contradict_its_opt_in_people_is_withheld(
    home_of_its_own, log, package
):
    """All devices on one url of three: the gate refuses, for free, and says what it judged by."""
    home, file = home_of_its_own, home_of_its_own.root / "reports"
    cells = [{"cells": [0], "nonce": f"{number:032x}"} for number in range(2_000)]
    write_reports(file, package.release_id, 0, cells)
    with pytest.raises(GateRefused, match="min_agreement"):
        run_release(identify(collecting_request(log, reports=file, min_agreement=1e-6), home))
    assert not (home.public / "search").exists()
    folder = run_release(identify(collecting_request(log, reports=file, min_agreement=0), home))
    check = json.loads((folder / "manifest.json").read_bytes())["cross_check"]
    assert float(check["p_value"]) < 1e-6
    assert check["suspicious_records"] >= 1


def test_a_command_that_waits_for_devices_keeps_no_searches(tmp_path):
    """Nor is a query on its list that was blocked."""
    home, searches, blocklist = tmp_path / "home", tmp_path / "searches.tsv", tmp_path / "blocked"
    new_home(home)
    write_searches(searches, 3_000, BLOCKED)
    blocklist.write_text(f"{BLOCKED[0]}\n")
    done = run_command(
        f"hybriddp release --log {searches} --epoch 2026-W46 --clients reports "
        f"--everybody-opted-in --blocklist {blocklist} --home {home}"
    )
    assert done.exit_code == 0, done.output
    assert "COLLECTING" in done.stdout
    [package] = home.glob("public/collections/*")
    listed = dict(read_package(package, read_public_key(home / "public" / "signing.pub")).head_list)
    assert listed == {query: (url,) for query, url in POPULAR}
    assert list((home / "private" / "warehouse").iterdir()) == []
