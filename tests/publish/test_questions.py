"""Ctrl-C at a question is no answer: words, an exit code, and nothing changed.

Each command runs in a process and a terminal of its own, as it does for an operator.
"""

import json
import os
import pty
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tasks.ledger.ledger import Ledger
from tasks.ledger.rules import Kind
from tasks.products.head_list.run import identify
from tests.homes import new_home
from tests.patience import PATIENCE
from tests.repository import ROOT
from tests.steps import ALL_DRAWS, TO_THE_CHARGE, do

# What `flows/release.py` does at its end, without Prefect's server.
SIGN_OFF = """
import sys
from pathlib import Path
import polars  # it changes what a signal does to a system call, wherever it is imported
from flows.walking.sign_off import wait_for_sign_off
from flows.console.terminal import explained
from tasks.store.home import Home
from tasks.products.head_list.request import ReleaseRequest
from tasks.products.head_list.run import identify
request, home = ReleaseRequest.model_validate_json(sys.argv[1]), Home.open(Path(sys.argv[2]))
try:
    explained(lambda as_json: wait_for_sign_off(identify(request, home)))(as_json=True)
except BaseException as error:
    sys.exit(error.exit_code)
"""


def interrupted_at(question: str, *arguments: object) -> str:
    """Run Python in a terminal, interrupt it when it asks; return why it says that it ended."""
    terminal, its_end = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, *map(str, arguments)],
        cwd=ROOT, stdin=its_end, stdout=its_end, stderr=its_end, start_new_session=True,
        env=os.environ | {"COLUMNS": "200", "TERM": "dumb"},
    )  # fmt: skip
    os.close(its_end)
    said, is_asked = b"", False
    try:
        while block := _read(terminal):
            said += block
            if not is_asked and question.encode() in said:
                is_asked = True
                _wait_until_it_reads(process)
                process.send_signal(signal.SIGINT)
        assert is_asked, said.decode()
        assert process.wait(timeout=PATIENCE) == 1, said.decode()
    finally:
        process.kill()
        process.wait()
        os.close(terminal)
    assert b"Traceback" not in said
    (printed,) = (line for line in said.splitlines() if line.startswith(b'{"error"'))
    failure = json.loads(printed)["error"]
    assert (failure["kind"], failure["exit_code"]) == ("stopped", 1)
    return failure["message"]


def _wait_until_it_reads(process: subprocess.Popen) -> None:
    """Wait until a process sleeps in reading its standard input.

    Python looks for signals before it reads, and while it reads, but not on the way into the call:
    nobody types that fast, but this test would.
    """
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        call = Path(f"/proc/{process.pid}/syscall").read_text().split()
        if call[1:2] == ["0x0"]:  # the first argument: which descriptor
            return
        time.sleep(0.01)
    raise AssertionError("it asked, and does not read the answer")


def _read(terminal: int) -> bytes:
    if not select.select([terminal], [], [], PATIENCE)[0]:
        raise AssertionError("it says nothing, and does not end")
    try:
        return os.read(terminal, 1 << 16)
    except OSError:  # Linux says so when the other end is closed
        return b""


def files_of(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize(
    "command",
    [
        ["ledger", "erase", "17"],
        ["ledger", "policy", "--cap-epsilon", "20"],
        ["withdraw", "{release_id}", "--reason", "test"],
    ],
)
def test_ctrl_c_changes_nothing(run, command):
    (run.home.warehouses / "copy").mkdir()
    rows, public = Ledger(run.home.ledger).entries(), files_of(run.home.public)
    arguments = [argument.format(release_id=run.release_id) for argument in command]
    message = interrupted_at("Go on?", "-m", "flows", *arguments, "--home", run.home.root, "--json")
    assert message == "stopped at the question; nothing was changed."
    assert Ledger(run.home.ledger).entries() == rows
    assert files_of(run.home.public) == public
    assert (run.home.warehouses / "copy").is_dir()


def test_ctrl_c_at_sign_off_leaves_the_release_to_be_decided(original, root, gates_waived):
    request = original.request.model_copy(update={"sign_off": True})
    run = identify(request, new_home(root / "home"))
    do(run, *TO_THE_CHARGE, *ALL_DRAWS)
    rows, public = run.ledger.entries(), files_of(run.home.public)
    message = interrupted_at(
        "publish, later or never?", "-c", SIGN_OFF, request.model_dump_json(), run.home.root
    )
    assert "nothing was published, and what was drawn is stored" in message
    assert run.ledger.entries() == rows
    assert not run.state.has(Kind.WITHHELD)
    assert files_of(run.home.public) == public
