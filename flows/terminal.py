"""What every command shares: exit codes, one sentence for every error, tables, progress."""

import gc
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from functools import wraps
from pathlib import Path
from typing import Annotated, ParamSpec, TypeVar

import typer
from pydantic import ValidationError
from rich.console import Console

from hybriddp.errors import HybridDPError, InvalidParameter
from tasks.keys import KeyProblem
from tasks.log_files import BadInput
from tasks.quality import GateRefused
from tasks.refusals import BudgetRefused, fields_at_fault

P = ParamSpec("P")
R = TypeVar("R")

FAILED, BAD_INPUT, BUDGET_REFUSED, GATE_REFUSED = 1, 2, 3, 4
_CODES: tuple[tuple[type[Exception], int], ...] = (
    (InvalidParameter, BAD_INPUT),
    (BadInput, BAD_INPUT),
    (KeyProblem, BAD_INPUT),
    (BudgetRefused, BUDGET_REFUSED),
    (GateRefused, GATE_REFUSED),
    (HybridDPError, FAILED),
)

HomeOption = Annotated[
    Path | None, typer.Option(help="Where everything is kept; default: HYBRIDDP_HOME, else var.")
]
YesOption = Annotated[
    bool, typer.Option("--yes", help="Do not ask; for machines, and whoever knows the cost.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object for machines.")]


def explained(command: Callable[P, R]) -> Callable[P, R]:
    """Turn every error into one sentence and its exit code; never print a traceback."""

    @wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return command(*args, **kwargs)
        except ValidationError as error:
            message, code = fields_at_fault(error), BAD_INPUT
        except HybridDPError as error:
            message, code = str(error), next(c for kind, c in _CODES if isinstance(error, kind))
        except typer.Exit:
            raise
        except KeyboardInterrupt:
            message, code = "stopped; run the same command again to go on.", FAILED
        except Exception as error:
            # Its text may quote private data, so only its class is shown.
            message, code = (
                f"unforeseen {type(error).__name__}; `hybriddp doctor` may help.",
                FAILED,
            )
        gc.collect()  # frees what the error's frames held, before the interpreter complains
        Console(stderr=True, highlight=False, soft_wrap=True).print(
            f"[bold red]Error:[/] {message}"
        )
        raise typer.Exit(code)

    return run


def confirm(cost: str, *, yes: bool) -> None:
    """Say what cannot be undone, and go on only if somebody agrees; machines say --yes."""
    if yes:
        return
    if not _somebody_is_there():
        raise BadInput(f"{cost} Nobody can be asked here: give --yes if that is what you want.")
    Console(stderr=True, highlight=False, soft_wrap=True).print(cost, markup=False)
    if not typer.confirm("Go on?", default=False, err=True):
        raise BadInput("nothing was changed.")


def _somebody_is_there() -> bool:
    return sys.stdin.isatty()


class Progress:
    """Shows the step at work, and keeps how long each took."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._status = console.status("Starting")
        self._title, self._start = "", 0.0
        self.seconds: dict[str, float] = {}

    def __enter__(self) -> "Progress":
        _shown.set(self)
        self._status.start()
        self.announce("start Prefect")
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        _shown.set(None)
        self._status.stop()
        if kind is None:
            self._finish()

    def announce(self, title: str) -> None:
        """Say that a step begins, which ends the one before."""
        self._finish()
        self._title, self._start = title, time.monotonic()
        self._status.update(f"{title[0].upper()}{title[1:]}")

    @contextmanager
    def paused(self, title: str) -> Iterator[None]:
        """Leave the terminal alone during a step in which somebody is asked."""
        self.announce(title)
        self._status.stop()
        try:
            yield
        finally:
            self._status.start()

    def _finish(self) -> None:
        if self._title:
            spent = time.monotonic() - self._start
            self.seconds[self._title] = round(spent, 3)
            self._console.print(f"  [green]✓[/] {self._title} [dim]{spent:.1f} s[/]")
            self._title = ""


_shown: ContextVar[Progress | None] = ContextVar("shown", default=None)


def asking(title: str) -> AbstractContextManager[None]:
    """Pause the progress that is shown, if any, while somebody is asked."""
    progress = _shown.get()
    return nullcontext() if progress is None else progress.paused(title)
