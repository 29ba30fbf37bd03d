"""Finished runs on disk: one JSON line each, appended as it finishes, never rewritten.

A run is found again by a hash of its study, setting, seed and the code that computed it. So a study
that was killed goes on where it was, and one whose code has changed starts anew.
"""

import ast
import functools
import hashlib
import json
import os
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

from hybriddp.study_runs import Row
from tasks.studies.runners import AnySetting, runner_of

LIBRARY = Path(__file__).parents[2] / "hybriddp"
_FIRST_MODULE = "study_runs"


@dataclass(frozen=True, slots=True)
class Job:
    """One run that a study needs."""

    study: str
    setting: AnySetting
    seed: int


@dataclass(frozen=True, slots=True)
class Result:
    """What a run measured, and how long it took."""

    job: Job
    rows: list[Row]
    seconds: float


def key_of(job: Job) -> str:
    """Return the hash under which a run is stored."""
    parts = [job.study, asdict(job.setting), job.seed, _code_of(job)]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:24]


def _code_of(job: Job) -> str:
    first_module = runner_of(job.setting).first_module
    return code_version() if first_module == _FIRST_MODULE else code_version(first_module)


@functools.cache
def code_version(first_module: str = _FIRST_MODULE) -> str:
    """Return a hash of every library module that a run can reach, but for words about it."""
    digest = hashlib.sha256()
    for name in sorted(_reachable(first_module)):
        tree = ast.parse((LIBRARY / f"{name}.py").read_bytes())
        for node in ast.walk(tree):
            body = getattr(node, "body", None)
            if isinstance(body, list) and body and _is_docstring(body[0]):
                body[0] = ast.Pass()
        digest.update(f"{name} {ast.dump(tree)}".encode())
    return digest.hexdigest()[:12]


def _is_docstring(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


def _reachable(first: str) -> set[str]:
    reached, waiting = set(), [first]
    while waiting:
        name = waiting.pop()
        if name in reached or not (LIBRARY / f"{name}.py").is_file():
            continue
        reached.add(name)
        for node in ast.walk(ast.parse((LIBRARY / f"{name}.py").read_bytes())):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("hybriddp"):
                inner = (node.module or "").partition(".")[2]
                waiting += [inner] if inner else [alias.name for alias in node.names]
    return reached


class Store:
    """The runs of one study, in `runs.jsonl` of its folder."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "runs.jsonl"

    def load(self, jobs: Iterable[Job]) -> dict[Job, list[Row]]:
        """Return what is known of these jobs already."""
        if not self.path.is_file():
            return {}
        found = {}
        for line in self.path.read_text(encoding="utf-8").splitlines():
            try:
                record = json.loads(line)
            except ValueError:
                continue  # cut short by a kill; that run is done again
            found[record["key"]] = record["rows"]
        return {job: found[key] for job in jobs if (key := key_of(job)) in found}

    def append(self, result: Result) -> None:
        """Write one finished run; when this returns it is on disk."""
        job = result.job
        record = {
            "key": key_of(job),
            "study": job.study,
            "setting": asdict(job.setting),
            "seed": job.seed,
            "code": _code_of(job),
            "seconds": round(result.seconds, 3),
            "rows": result.rows,
        }
        self.path.parent.mkdir(parents=True, exist_ok=True)
        # A newline before, too: a line that a kill cut short must not swallow this one.
        text = f"\n{json.dumps(record)}\n" if self._is_torn() else f"{json.dumps(record)}\n"
        with self.path.open("a", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())

    def _is_torn(self) -> bool:
        if not self.path.is_file() or self.path.stat().st_size == 0:
            return False
        with self.path.open("rb") as file:
            file.seek(-1, os.SEEK_END)
            return file.read(1) != b"\n"
