"""What the machine lacks is named, with what to do, and not blamed on the log."""

import errno
import json
import os
import subprocess
import sys

import pytest

from tasks.log.raw.files import BadInput, inspect
from tasks.store.machine import MachineFailed, machine_fault, machine_fault_in
from tests.patience import PATIENCE
from tests.repository import ROOT

# Limits come after imports, which open files themselves; spare descriptors are then used up.
LIMITED = """
import os, resource, sys
from pathlib import Path
import flows.cli.synthetic, tasks.log.engine, tasks.log.raw.files, tasks.log.raw.lines
from tasks.log.raw.files import Source
folder = Path(sys.argv[1])
log = folder / "log.tsv"
log.write_text("AnonID\\tQuery\\n" + "7\\tweather\\n" * 10)
source = Source((log,), "tsv", ("AnonID", "Query"))

def no_more_files():
    limit = len(os.listdir("/proc/self/fd")) + 2
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
    try:
        while True:
            os.open(os.devnull, os.O_RDONLY)
    except OSError:
        pass

def small_files():
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))

from flows.console.terminal import explained
"""
TASKS = {
    "generate": """
small_files()
flows.cli.synthetic.generate(out=folder / "out.tsv", users=2000)
""",
    "inspect": """
no_more_files()
explained(lambda: tasks.log.raw.files.inspect(log, ["AnonID"], "log"))()
""",
    "count lines": """
no_more_files()
explained(lambda: tasks.log.raw.lines.count_records(source))()
""",
    "read in DuckDB": """
from tasks.log.ingest import _reading
import duckdb
engine = tasks.log.engine.DuckDBEngine(duckdb.connect(":memory:"))
no_more_files()
def read():
    with _reading(log, source):
        engine.read("raw", source, {"person": "AnonID"})
        engine.fetch("raw")
explained(read)()
""",
    "step": """
from tasks.store.home import Home
from tasks.orchestration.tasks import guarded
home = Home(folder)
small_files()
explained(lambda: guarded("write", home, lambda: (folder / "big").write_bytes(b"x" * 10_000)))()
""",
    "unforeseen": """
from tasks.store.home import Home
from tasks.orchestration.tasks import guarded
home = Home(folder)
(folder / "private" / "failures").mkdir(parents=True)
no_more_files()
explained(lambda: guarded("divide", home, lambda: 1 / 0))()
""",
}
SAID = {
    "generate": "raise `ulimit -f`",
    "inspect": "raise `ulimit -n`",
    "count lines": "raise `ulimit -n`",
    "read in DuckDB": "raise `ulimit -n`",
    "step": "write: a file would become larger than this process may write; raise `ulimit -f`",
    "unforeseen": "divide: failed with ZeroDivisionError. The details may quote private data; they "
    "could not be kept (Too many open files)",
}  # fmt: skip


# Each task in a process of its own, of one that has imported everything.
EACH = """
import json
said = {}
for name, code in json.loads(sys.argv[2]).items():
    folder = Path(sys.argv[1]) / name.replace(" ", "-")
    folder.mkdir()
    pid = os.fork()
    if pid == 0:
        words = os.open(folder / "words", os.O_CREAT | os.O_WRONLY)
        os.dup2(words, 2)
        try:
            exec(code)
        except flows.cli.synthetic.typer.Exit as error:
            sys.stderr.flush()
            os._exit(error.exit_code)
        finally:
            os._exit(99)
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    said[name] = status, (folder / "words").read_text()
print(json.dumps(said))
"""


@pytest.fixture(scope="module")
def said_by_task(tmp_path_factory) -> dict[str, tuple[int, str]]:
    done = subprocess.run(
        [sys.executable, "-c", LIMITED + EACH, tmp_path_factory.mktemp("m"), json.dumps(TASKS)],
        cwd=ROOT, env=os.environ | {"COLUMNS": "300"}, capture_output=True, text=True,
        timeout=PATIENCE, check=True,
    )  # fmt: skip
    return json.loads(done.stdout)


@pytest.mark.parametrize("task", TASKS)
def test_limits_of_the_machine_are_named(said_by_task, task):
    exit_code, words = said_by_task[task]
    said = " ".join(words.split())
    assert SAID[task] in said
    assert exit_code == 1, said
    assert "Traceback" not in said
    if task != "unforeseen":
        assert "The log is not to blame." in said


@pytest.mark.parametrize(
    "code", [errno.ENOSPC, errno.EDQUOT, errno.EMFILE, errno.ENFILE, errno.EIO]
)
def test_every_such_fault_has_words_in_both_spellings(code):
    error = OSError(code, os.strerror(code), "/some/file")
    assert machine_fault(error).startswith("/some/file: ")
    assert machine_fault_in(f'Could not write file "x": {os.strerror(code)}') in machine_fault(
        error
    )
    assert machine_fault(OSError("not a gzip file")) is None
    assert machine_fault_in("malformed line") is None


def test_a_log_that_may_not_be_read_is_no_fault_of_the_machine(tmp_path):
    (tmp_path / "log.tsv").mkdir()
    with pytest.raises(BadInput):
        inspect(tmp_path / "log.tsv", ["AnonID"], "log")
    assert not issubclass(MachineFailed, BadInput)
