"""The flows through a real server, worker and HTTP API, as Prefect's pages use them."""

import json
import re
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tasks.ledger.ledger import Ledger
from tasks.ledger.rules import Kind
from tasks.products.head_list import HEAD_LIST
from tasks.publish.shelf import read_rows
from tasks.store.home import Home
from tasks.verify.signatures import read_public_key
from tasks.verify.verify import verify_release
from tests.flow.conftest import blocklist_of, run_command, states_of_tasks, wait_until
from tests.flow.logs import BLOCKED, HEADER, SECRETS, write_searches

pytestmark = [pytest.mark.flow, pytest.mark.slow]


def asked(log: Path, **settings) -> dict:
    return {"log": str(log), "epoch": "2026-W46", "optin_fraction": 0.3, **settings}


def rows_of(served, kind: Kind) -> list:
    return [entry for entry in Ledger(Home(served.home).ledger).entries() if entry.kind is kind]


def bytes_of(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def numbers_in(shown: object) -> list[str]:
    """Return the numbers that stand alone in a text: not those inside of ids, dates or decimals."""
    words = re.sub(r"(?<=\d),(?=\d{3})", "", str(shown))  # 1,234
    return re.findall(r"(?<![\w.:+/-])-?\d+(?![\w.:/-])", words)


@pytest.fixture(scope="module")
def from_the_form(served, searches) -> Path:
    """A release that was started as the page's form starts one."""
    request = asked(searches, blocklist=str(blocklist_of(searches)))
    state = served.wait(served.start("release/weekly-release", request))
    assert state["type"] == "COMPLETED", served.output.read_text()[-3000:]
    (folder,) = (path.parent for path in served.home.glob("public/search/all/*/manifest.json"))
    return folder


def test_command_finds_its_homes_server_by_its_key_and_the_forms_release(
    served, searches, from_the_form
):
    before, entries = bytes_of(from_the_form), len(rows_of(served, Kind.RESERVED))
    done = run_command(
        "release", "--log", str(searches), "--epoch", "2026-W46", "--optin-fraction", "0.3",
        "--home", str(served.home), "--json", environment=served.environment,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert (said["folder"], said["is_replay"]) == (str(from_the_form), True)
    assert bytes_of(from_the_form) == before
    assert len(rows_of(served, Kind.RESERVED)) == entries == 1


def test_every_step_left_an_artifact(served, from_the_form):
    found = served.call("POST", "/artifacts/filter", {})
    kinds = {artifact["key"]: artifact["type"] for artifact in found}
    assert set(kinds.values()) == {"markdown", "table"}
    for plot in (a["data"] for a in found if a["key"] == "hybriddp-head-list-plot"):
        assert re.fullmatch(r"!\[[^]]+\]\(data:image/svg\+xml;utf8,[^)\s]+\)", plot)
    for step in (
        "release", "ingest", "gate-raw-log", "cohorts", "budget-runway", "head-list-draw",
        "forecast", "listing", "client-reports", "client-records",
        "blended-records", "projected-records", "published-records", "cross-check",
        "gate-published-list", "head-list", "head-list-plot", "label",
    ):  # fmt: skip
        assert f"hybriddp-{step}" in kinds


def test_a_runs_graph_is_the_chain_of_its_steps(served, from_the_form):
    """Each task takes what the one before it passed on, and nothing of any other."""
    wanted = {
        "flows": {"name": {"any_": ["release"]}},
        "flow_runs": {"state": {"type": {"any_": ["COMPLETED"]}}},
        "sort": "START_TIME_ASC", "limit": 1,
    }  # fmt: skip
    (run,) = served.call("POST", "/flow_runs/filter", wanted)
    graph = served.call("GET", f"/flow_runs/{run['id']}/graph-v2")
    nodes = dict(graph["nodes"])
    (place,) = graph["root_node_ids"]
    chain = []
    while True:
        chain.append(nodes[place]["label"].rpartition("-")[0])
        following = {child["id"] for child in nodes[place]["children"]}
        if not following:
            break
        (place,) = following
    # Without devices no package is published, without a series nothing changes; questions are the
    # flow's, not a task's.
    others = ("publish collection package", "find changes")
    steps = [
        step.title for step in HEAD_LIST.working.STEPS
        if not step.asks and step.title not in others
    ]  # fmt: skip
    assert chain == ["identify", *steps]
    assert len(nodes) == len(chain)


@pytest.mark.parametrize("wrong", [{"epsilon": 99}, {"epsilom": 1}, {"epoch": None}])
def test_form_refuses_what_the_command_line_would_refuse(served, searches, wrong):
    deployment = served.deployment("release/weekly-release")
    answer = served.call(
        "POST",
        f"/deployments/{deployment}/create_flow_run",
        {"parameters": {"request": asked(searches) | wrong}},
    )
    assert answer["status"] == 409
    assert next(iter(wrong)) in answer["detail"]


def require_log_without_tracebacks(served, run: str, reason: str) -> None:
    """What the page shows of a run that failed: its reason, and no frames of Prefect's."""
    wanted = {"logs": {"flow_run_id": {"any_": [run]}}}
    logged: list[str] = []

    def is_there() -> bool:
        logged[:] = [log["message"] for log in served.call("POST", "/logs/filter", wanted)]
        return any(reason in message for message in logged)

    wait_until(is_there, "the reason is not in the run's log")
    raw = ("Traceback", "File ", "BadInput", "pydantic", "NoneType", "Validation of")
    assert not [message for message in logged if any(word in message for word in raw)]


@pytest.mark.long
def test_form_that_the_api_lets_through_fails_with_the_field_at_fault(served, searches):
    """Whoever calls the API may switch its check off, and it knows only a part of our rules."""
    path = f"/deployments/{served.deployment('release/weekly-release')}/create_flow_run"
    wrong = asked(searches, epsilon=-1, epsilom=1, rotation="often")
    body = {"parameters": {"request": wrong}, "enforce_parameter_schema": False}
    run = served.call("POST", path, body)["id"]
    state = served.wait(run)
    assert state["type"] == "FAILED"
    faults = "rotation: must be a whole number, got 'often'; epsilon: must be above 0, got -1; "
    assert state["message"].startswith(f"{faults}epsilom: is no setting of this; ")
    require_log_without_tracebacks(served, run, faults)
    assert states_of_tasks(served, run) == []


def refused_tasks(served, run: str) -> list[str]:
    return [task["message"] for task in states_of_tasks(served, run) if task["type"] == "FAILED"]


@pytest.fixture(scope="module")
def retried(served, tmp_path_factory) -> str:
    """A run whose log was refused, retried as the page does it: put back to AwaitingRetry."""
    log = tmp_path_factory.mktemp("late") / "late.tsv"
    bad = [f"{person}\t{SECRETS[0]}\tno time\t1\t{SECRETS[1]}" for person in range(50)]
    log.write_text("\n".join([HEADER, *bad]) + "\n")
    # A log of another content is another release, so this is one of its own.
    request = asked(log, product="signed", sign_off=True, ignore_plan=True)
    run = served.start("release/weekly-release", request)
    state = served.wait(run)
    assert state["type"] == "FAILED"
    assert "bad_row_share" in state["message"]
    require_log_without_tracebacks(served, run, "max_bad_row_share = 0.01: Many rows")
    wait_until(lambda: refused_tasks(served, run), "the server has not heard of the task")
    assert refused_tasks(served, run) == [state["message"]]
    write_searches(log, 1_000)
    retry = {"state": {"type": "SCHEDULED", "name": "AwaitingRetry"}, "force": True}
    served.call("POST", f"/flow_runs/{run}/set_state", retry)
    return run


def test_sign_off_of_a_retried_run_waits_and_approval_draws_nothing_again(served, retried):
    """That *later* asks again is in `tests/publish/test_sign_off.py`."""
    waiting = served.wait(retried, "Suspended")
    assert waiting["name"] == "Suspended", waiting
    assert not list(served.home.glob("public/signed/all/*"))
    (page,) = served.call(
        "POST", "/artifacts/latest/filter", {"artifacts": {"key": {"any_": ["hybriddp-sign-off"]}}}
    )
    assert "head_list: 2 rows" in page["data"]
    assert "google" in page["data"]
    assert "weather" in page["data"]
    assert "# Privacy label" in page["data"]
    drawn = [(e.release_id, e.attempt, e.draw) for e in rows_of(served, Kind.DRAWN)]
    served.resume(retried, "publish")
    done = served.wait(retried, "Completed")
    assert done["type"] == "COMPLETED", done
    assert len(list(served.home.glob("public/signed/all/*/manifest.json"))) == 1
    assert [(e.release_id, e.attempt, e.draw) for e in rows_of(served, Kind.DRAWN)] == drawn
    assert len(set(drawn)) == len(drawn)


def test_scheduled_run_completes(served, from_the_form):
    """Broken schedulers fail silently, so only a run that was scheduled and completed counts."""
    deployment = served.deployment("verify/verify")
    (schedule,) = served.call(
        "POST",
        f"/deployments/{deployment}/schedules",
        [{"active": True, "schedule": {"interval": 15}}],
    )
    wanted = {
        "flow_runs": {"state": {"type": {"any_": ["PENDING", "RUNNING", "COMPLETED"]}}},
        "deployments": {"id": {"any_": [deployment]}},
    }
    found: list[dict] = []

    def has_begun() -> bool:
        found[:] = served.call("POST", "/flow_runs/filter", wanted)
        return bool(found)

    wait_until(has_begun, "nothing that was scheduled begins")
    served.call("DELETE", f"/deployments/{deployment}/schedules/{schedule['id']}")
    assert all(run["auto_scheduled"] for run in found)
    state = served.wait(found[0]["id"])
    assert state["type"] == "COMPLETED", state


def test_ledger_has_a_concurrency_limit(served, from_the_form):
    limit = served.call("GET", "/v2/concurrency_limits/hybriddp-ledger")
    assert (limit["limit"], limit["active"]) == (1, True)


def haystacks_of(served) -> dict[str, bytes]:
    """Everything that a server and its runs wrote, by name; tables as rows, too."""
    haystacks = {"serve.log": served.output.read_bytes()}
    for path in served.home.rglob("*"):
        if path.is_file():
            name = str(path.relative_to(served.home))
            haystacks[name] = path.read_bytes()
            if path.suffix == ".parquet":
                haystacks[f"{name} as rows"] = str(pq.read_table(path).to_pylist()).encode()
    assert any("prefect.db" in name for name in haystacks)
    assert any(b"google" in data for data in haystacks.values()), "the search itself must work"
    return haystacks


def require_no_secret(served) -> None:
    """Not in logs, run records, results, artifacts, quality results, ledger or published files."""
    haystacks = haystacks_of(served)
    for secret in SECRETS:
        leaks = [name for name, data in haystacks.items() if secret.encode() in data]
        assert not leaks, secret


def require_blocked_text_on_no_page(served) -> None:
    """Pages show what is in Prefect's database: parameters, artifacts, logs and states of runs."""
    haystacks = haystacks_of(served)
    assert any(b"google" in data for name, data in haystacks.items() if "prefect.db" in name)
    holding = {name for name, data in haystacks.items() if BLOCKED[0].encode() in data}
    assert any(name.startswith("measurements/") for name in holding), "S named it"
    measured = {name for name in holding if name.startswith("measurements/")}
    assert holding - measured <= {"private/ledger.sqlite", "private/ledger.sqlite-wal"}


def test_nothing_private_is_anywhere_after_releases(served, from_the_form, retried):
    """One was published, and one refused."""
    require_no_secret(served)
    require_blocked_text_on_no_page(served)


@pytest.mark.long
def test_plan_reads_the_published_list_and_spends_nothing(served, from_the_form):
    before = Ledger(Home(served.home).ledger).entries()
    request = {"previous": str(from_the_form), "suggest": False, "replicates": 5}
    state = served.wait(served.start("plan/plan", request))
    assert state["type"] == "COMPLETED", served.output.read_text()[-3000:]
    (shown,) = served.call(
        "POST", "/artifacts/latest/filter", {"artifacts": {"key": {"any_": ["hybriddp-plan"]}}}
    )
    assert "queries on the list" in shown["data"]
    assert Ledger(Home(served.home).ledger).entries() == before


@pytest.mark.long
def test_study_leaves_its_page_with_the_run(served, tmp_path):
    request = {"name": "zealous-parameters", "quick": True, "out": str(tmp_path / "study")}
    state = served.wait(served.start("study/study", request))
    assert state["type"] == "COMPLETED", served.output.read_text()[-3000:]
    (shown,) = served.call(
        "POST", "/artifacts/latest/filter", {"artifacts": {"key": {"any_": ["hybriddp-study"]}}}
    )
    assert shown["type"] == "markdown"
    assert "](data:image/svg+xml;base64," in shown["data"]


@pytest.mark.long
def test_histograms_are_published_from_the_form_and_leave_artifacts(served, searches):
    request = {
        "log": str(searches), "epoch": "2026-W46", "histograms": ["queries", "clicks"],
        "blocklist": str(blocklist_of(searches)),
    }  # fmt: skip
    state = served.wait(served.start("zealous/zealous", request))
    assert state["type"] == "COMPLETED", served.output.read_text()[-3000:]
    (folder,) = (path.parent for path in served.home.glob("public/histograms/all/*/manifest.json"))
    key = read_public_key(served.home / "public/signing.pub")
    _, checks = verify_release(folder, key)
    assert "promise" in [check.name for check in checks]
    queries = {row["query"] for row in read_rows(folder, "queries")}
    assert queries == {"google", "weather"}
    kinds = {artifact["key"] for artifact in served.call("POST", "/artifacts/filter", {})}
    for step in ("people", "queries-draw", "clicks-draw", "gate-histograms", "queries", "clicks"):
        assert f"hybriddp-{step}" in kinds
    require_no_secret(served)
    require_blocked_text_on_no_page(served)


@pytest.mark.long
def test_mean_from_the_form_shows_nothing_of_either_group(served, tmp_path):
    """Clicks per person, as one number; nothing of either group is on the pages."""
    log = tmp_path / "clicks.tsv"
    rows = [f"new-{i}\tq\t2026-11-10 10:00:00\t1\thttp://a.com" for i in range(600)]
    log.write_text("\n".join(["AnonID\tQuery\tQueryTime\tItemRank\tClickURL", *rows]) + "\n")
    request = {
        "log": str(log), "epoch": "2026-W46", "column": "ClickURL", "per_person": "count",
        "upper": 1, "one_number": True, "optin_fraction": 0.5,
    }  # fmt: skip
    state = served.wait(served.start("mean/mean", request))
    assert state["type"] == "COMPLETED", served.output.read_text()[-3000:]
    (folder,) = (path.parent for path in served.home.glob("public/mean/all/*/manifest.json"))
    [row] = read_rows(folder, "means")
    assert 0 <= row["ci_low"] <= row["mean"] <= row["ci_high"] <= 1
    (sums,) = served.home.glob(f"measurements/{folder.name}*/**/value_sums.parquet")
    [noisy] = pq.read_table(sums)["noisy_sum"].to_pylist()
    shown = served.call("POST", "/artifacts/filter", {})
    assert "hybriddp-means" in [artifact["key"] for artifact in shown]
    numbers = [number for artifact in shown for number in numbers_in(artifact["data"])]
    assert str(row["clients"]) in numbers, "the search itself must work"
    # About 300 people at 65,536 steps each: more digits than anything that is shown has.
    assert noisy > 1_000_000
    assert str(noisy) not in numbers
