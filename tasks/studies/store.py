"""Finished runs on disk: one JSON line each, appended as it finishes, never rewritten.

A run is found again by a hash of its study, setting, seed and the code that computed it. So a study
that was killed goes on where it was, and one whose code has changed starts anew.
"""

import hashlib
import json
import os
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

from hybriddp.studies.blender.runs import Row
from tasks.studies.code import code_version
from tasks.studies.runners import AnySetting, runner_of


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
    return code_version(runner_of(job.setting).first_module)


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
