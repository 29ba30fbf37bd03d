"""Releases in processes of their own, on a cluster that is killed in the middle of their steps.

The last step of every Spark job of an engine's call is a function of ours: once all rows of a part
went through it, it kills, the first time. So the job runs, has rows and is not done, however fast
the machine is.
"""

import os
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

import pytest

from tests.release.faults import append_line, read_lines
from tests.spark.watched import Watched, watched

CALLS, REACHED, GO_ON = "calls", "reached", ".go"
# The engine's calls that run something, and what of the engine each asks for the rows.
_INSIDE = {
    "_keep": ("step", "each_row", "each_group", "map"),
    "_frame": ("fetch", "count"),
    "_on_parts": ("count_records",),
}


class Whom(StrEnum):
    """Who dies."""

    WORKER = "a worker and its executor"
    DRIVER = "the driver"
    WAIT = "nobody: it waits for the test to do something"


@dataclass(frozen=True)
class Plan:
    """In which of the engine's calls somebody dies: in every so many, or in those of one name."""

    whom: Whom
    every: int = 1
    only: str | None = None
    is_counted: bool = True  # else calls of one name are one, and a run that goes on passes it


def deadly(mark: str, whom: Whom, driver: int) -> Callable[[Any], Any]:
    """Return what kills from inside of Spark's job, once."""

    def passes(batches: Any) -> Any:
        yield from batches
        try:
            os.close(os.open(mark, os.O_WRONLY | os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return
        if whom == Whom.DRIVER:
            os.kill(driver, signal.SIGKILL)
        elif whom == Whom.WORKER:
            executor = parent(parent(os.getpid()))  # between us is the daemon that makes our like
            worker = parent(executor)
            assert "deploy.worker.Worker" in command(worker)
            assert "CoarseGrainedExecutorBackend" in command(executor)
            os.kill(worker, signal.SIGKILL)  # first, so that it cannot tell anybody
            os.kill(executor, signal.SIGKILL)
        go_on = Path(f"{mark}{GO_ON}")
        while whom != Whom.WAIT or not go_on.exists():  # or until whoever made us is gone
            time.sleep(0.1)

    def parent(process: int) -> int:
        return int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])

    def command(process: int) -> str:
        return Path(f"/proc/{process}/cmdline").read_text()

    return passes


class Killer:
    """Makes calls of this process's engine deadly, and writes down which."""

    def __init__(self, folder: Path, plan: Plan) -> None:
        self._folder, self._plan, self._n_calls = folder, plan, 0
        self._call, self._mark = "", ""
        (folder / REACHED).mkdir(exist_ok=True)

    def lay(self) -> None:
        """Change the engine."""
        from pyspark import cloudpickle

        import tests.spark.faults
        from tasks.log.spark.engine import SparkEngine

        cloudpickle.register_pickle_by_value(tests.spark.faults)  # workers have no tests
        for inside, names in _INSIDE.items():
            for name in names:
                setattr(SparkEngine, name, self._named(name, getattr(SparkEngine, name)))
            setattr(SparkEngine, inside, self._deadly(getattr(SparkEngine, inside), names))

    def _named(self, name: str, original: Any) -> Any:
        def call(engine: Any, *args: Any, **kwargs: Any) -> Any:
            self._n_calls += 1
            about = Path(args[0]).name if isinstance(args[0], str) else "files"
            number = f"{self._n_calls:03}-" if self._plan.is_counted else ""
            self._call, self._mark = name, f"{number}{name}-{kwargs.get('into') or about}"
            return original(engine, *args, **kwargs)

        return call

    def _deadly(self, original: Any, names: tuple[str, ...]) -> Any:
        def changed(*args: Any) -> Any:
            if self._call not in names or not self._is_due():
                return original(*args)
            append_line(self._folder / CALLS, self._mark)
            mark = str(self._folder / REACHED / self._mark)
            function = deadly(mark, self._plan.whom, os.getpid())
            *before, last = args
            if hasattr(last, "mapInArrow"):
                return original(*before, last.mapInArrow(function, last.schema))
            frame = original(*args)
            return frame.mapInArrow(function, frame.schema)

        return changed

    def _is_due(self) -> bool:
        if self._plan.only is not None:
            return self._mark.endswith(f"-{self._plan.only}")
        return self._n_calls % self._plan.every == 0


class Lines:
    """A list in a file, which is there after its writer was killed."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def append(self, value: Any) -> None:
        """Write a value down."""
        append_line(self._path, repr(value))


def on_cluster(env: dict[str, str], plan: Plan | None, target: Any, root: Path, *args: Any) -> None:
    """Run a function in this process on a cluster; write down in `root` what noise is added to."""
    os.environ.update(env)
    if plan is not None:
        Killer(root, plan).lay()
    seen = Watched(judged=Lines(root / "judged"), counted=Lines(root / "counted"))
    with watched(pytest.MonkeyPatch(), seen):
        target(root, *args)


def reached_in(root: Path) -> list[str]:
    """Return the calls in which somebody died."""
    folder = root / REACHED  # which the release makes
    return sorted(mark.name for mark in folder.iterdir()) if folder.is_dir() else []


def let_go_on(root: Path) -> None:
    """Let the call that waits in the middle of a release go on."""
    [mark] = (root / REACHED).iterdir()
    mark.with_name(f"{mark.name}{GO_ON}").touch()


def calls_in(root: Path) -> list[str]:
    """Return the calls in which somebody was to die."""
    return sorted(set(read_lines(root / CALLS)))
