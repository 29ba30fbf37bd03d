"""What a step of a release is.

Each product has one list of steps. Prefect's flow, a plain process, the tests that kill it and the
display of progress all walk that list. A step takes the run, reads what earlier steps wrote, and
writes its own; one that finds its work done does nothing, so a release can be run again from the
start after any failure.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tasks.release.artifacts import Artifacts


def _always(_run: Any) -> bool:
    return True


def _nothing(_run: Any, _result: Any) -> Artifacts:
    return ()


@dataclass(frozen=True, slots=True)
class Step:
    """One step: what it does, and what it shows of it."""

    title: str
    work: Callable[[Any], Any]  # of the run
    show: Callable[[Any, Any], Artifacts] = _nothing  # of the run, and of what the work returned
    applies: Callable[[Any], bool] = _always
    draws: tuple[str, ...] = ()  # the groups that are measured here: never tried again
    writes_ledger: bool = False
    is_free: bool = False  # deterministic post-processing, which may be tried again
    asks: str | None = None  # what a person is asked about here, where there is one to ask

    @property
    def takes_a_turn(self) -> bool:
        """Whether runs of one server take turns here."""
        return self.writes_ledger or bool(self.draws)


Steps = tuple[Step, ...]
