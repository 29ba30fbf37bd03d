"""The one place that prints: tables, progress, questions, and one sentence for every error.

Paths, epochs, queries, urls, reasons and other texts from outside are shown harmlessly: nothing in
them is markup, and what would steer a terminal (escape codes, text that runs backwards) is visible
as such. A terminal that has only ASCII gets ASCII.
"""

import codecs
import gc
import json
import signal
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, ParamSpec, TypeVar

import rich.console
import rich.table
import typer
from rich.text import Text

from hybriddp.errors import HybridDPError
from tasks.publish.showing import spelled, visible
from tasks.release.refusals import (
    BAD_INPUT,
    FAILED,
    KINDS,
    BadInput,
    Stopped,
    exit_code_of,
    fields_at_fault,
)
from tasks.store.machine import machine_fault

P = ParamSpec("P")
R = TypeVar("R")

HomeOption = Annotated[
    Path | None, typer.Option(help="Where everything is kept; default: HYBRIDDP_HOME, else var.")
]
YesOption = Annotated[
    bool, typer.Option("--yes", help="Do not ask; for machines, and whoever knows the cost.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object for machines.")]

_IN_ASCII = {"✓": "ok", "✗": "no", "±": "+-", "•": "-", "…": "...", "\u2013": "-"}


def harmless(text: object) -> str:
    """Return a text in which everything that could steer a terminal is spelled out."""
    return visible(text, keep="\n")


def _in_ascii(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    missing = error.object[error.start : error.end]
    return "".join(_IN_ASCII.get(c) or spelled(c) for c in missing), error.end


codecs.register_error("hybriddp-terminal", _in_ascii)


def show_anything() -> None:
    """Let both streams take every text, whatever the terminal's encoding is."""
    for stream in (sys.stdout, sys.stderr):
        if reconfigure := getattr(stream, "reconfigure", None):
            reconfigure(errors="hybriddp-terminal")


class Console(rich.console.Console):
    """Prints texts as they are, without markup; `Text` may have a style."""

    def __init__(self, *, stderr: bool = False, quiet: bool = False, **_: Any) -> None:
        super().__init__(stderr=stderr, quiet=quiet, markup=False, emoji=False, highlight=False)

    def print(self, *objects: Any, **options: Any) -> None:
        """Print texts harmlessly and unbroken, and tables of them."""
        options.setdefault("soft_wrap", all(isinstance(o, str | Text) for o in objects))
        super().print(*(harmless(o) if isinstance(o, str) else o for o in objects), **options)


class Table(rich.table.Table):
    """A table whose cells are shown as they are."""

    def __init__(self, *headers: str, **options: Any) -> None:
        super().__init__(box=None, **{k: v for k, v in options.items() if k != "box"})
        for header in headers:
            self.add_column(header)

    def add_column(self, header: Any = "", *others: Any, **options: Any) -> None:
        """Add a column with a plain heading."""
        super().add_column(_cell(header), *others, **options)

    def add_row(self, *cells: Any, **options: Any) -> None:
        """Add a row of plain texts, or of styled ones."""
        super().add_row(*map(_cell, cells), **options)


def _cell(content: Any) -> Any:
    return Text(harmless(content).replace("\n", "\\n")) if isinstance(content, str) else content


def say(text: str = "", *, to_stderr: bool = False) -> None:
    """Print a line harmlessly."""
    typer.echo(harmless(text), err=to_stderr)


def say_json(content: Mapping[str, object]) -> None:
    """Print one JSON object for machines."""
    typer.echo(json.dumps(content, default=str))


def mark(is_well: bool) -> Text:
    """Return a tick or a cross."""
    return Text("✓", style="green") if is_well else Text("✗", style="red")


def say_error(message: str, code: int, *, as_json: bool, kind: str | None = None) -> None:
    """Say why something ended, in one sentence, and in one JSON object if that was asked for."""
    text = Text.assemble(("Error:", "bold red"), " ", harmless(message))
    Console(stderr=True).print(text)
    if as_json:
        failure = {"kind": kind or KINDS[code], "message": message, "exit_code": code}
        say_json({"error": failure})


def explained(command: Callable[P, R]) -> Callable[P, R]:
    """Turn every error into one sentence and its exit code; never print a traceback."""

    @wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return command(*args, **kwargs)
        except typer.Exit:
            raise
        except (Exception, KeyboardInterrupt) as error:
            message, code, kind = _explain(error)
        gc.collect()  # frees what the error's frames held, before the interpreter complains
        say_error(message, code, as_json=bool(kwargs.get("as_json")), kind=kind)
        raise typer.Exit(code)

    return run


def _explain(error: BaseException) -> tuple[str, int, str | None]:
    """Return the sentence, the exit code, and the kind where the code does not say it."""
    if isinstance(error, HybridDPError):
        kind = "stopped" if isinstance(error, Stopped) else None
        return str(error), exit_code_of(type(error)) or FAILED, kind
    if isinstance(error, KeyboardInterrupt | typer.Abort):
        return "stopped; run the same command again to go on.", FAILED, "stopped"
    if "pydantic" in sys.modules:  # else it cannot have raised
        from pydantic import ValidationError

        if isinstance(error, ValidationError):
            return fields_at_fault(error), BAD_INPUT, None
    if isinstance(error, OSError) and (fault := machine_fault(error)):
        return fault, FAILED, None
    if isinstance(error, OSError) and error.filename is not None and error.strerror:
        return (
            f"{error.filename}: {error.strerror}; check the path, and who may use it.",
            BAD_INPUT,
            None,
        )
    # Its text may quote private data, so only its class is shown.
    return f"unforeseen {type(error).__name__}; `hybriddp doctor` may help.", FAILED, None


def _somebody_is_there() -> bool:
    return sys.stdin.isatty()


class Progress:
    """Shows the step at work, and keeps how long each took."""

    def __init__(self, *, is_quiet: bool) -> None:
        self._console = Console(stderr=True, quiet=is_quiet)
        self._status = self._console.status("Starting")
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
            took = (f" {spent:.1f} s", "dim")
            self._console.print(Text.assemble("  ", mark(True), f" {self._title}", took))
            self._title = ""


_shown: ContextVar[Progress | None] = ContextVar("shown", default=None)


def confirm(cost: str, *, yes: bool) -> None:
    """Ask before what cannot be undone, and say what it costs; raise BadInput if nobody agrees."""
    if yes:
        return
    if not _somebody_is_there():
        raise BadInput(f"{cost} Say --yes if that is what you want: there is nobody to ask here.")
    with asking("a question", "nothing was changed."):
        say(cost, to_stderr=True)
        if not typer.confirm("Go on?", err=True):
            raise BadInput("nothing was changed.")


@contextmanager
def asking(title: str, if_stopped: str) -> Iterator[None]:
    """Pause the progress that is shown, if any, while somebody is asked; Ctrl-C is no answer."""
    # polars makes system calls go on after a signal: Ctrl-C would wait for Enter.
    signal.siginterrupt(signal.SIGINT, True)
    progress = _shown.get()
    try:
        with nullcontext() if progress is None else progress.paused(title):
            yield
    except (KeyboardInterrupt, typer.Abort):
        raise Stopped(f"stopped at the question; {if_stopped}") from None
