"""The command's table of contents: a command's module is imported when the command runs.

`hybriddp --help` would else import every library that any command needs, which takes seconds.
"""

import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any, NamedTuple

import typer
from typer._click import Command, Context  # typer 0.29 carries its own click
from typer._click.exceptions import ClickException, NoArgsIsHelpError
from typer.core import TyperCommand, TyperGroup

from flows.console.terminal import harmless, say_error, show_anything
from tasks.imports import importing
from tasks.release.refusals import BAD_INPUT, FAILED, faults_of

HELP_NAMES = {"help_option_names": ["-h", "--help"]}


class Lazy(NamedTuple):
    """Where a command is: a module of `flows.cli`, and the name of its function or of its group."""

    module: str
    name: str
    help: str
    panel: str  # under which `--help` lists it

    def load(self) -> Command:
        """Import the command."""
        with importing():
            found = getattr(import_module(f"flows.cli.{self.module}"), self.name)
        if isinstance(found, typer.Typer):
            return typer.main.get_group(found)
        alone = typer.Typer(add_completion=False, context_settings=HELP_NAMES)
        alone.command()(found)
        return typer.main.get_command(alone)


class LazyGroup(TyperGroup):
    """Knows the names and the help of its commands, and imports the one that is called."""

    table: dict[str, Lazy] = {}  # noqa: RUF012  typer makes the instance, so it cannot be given

    def list_commands(self, ctx: Context) -> list[str]:
        """Return all names, in the order of the table."""
        return list(self.table)

    def get_command(self, ctx: Context, cmd_name: str) -> Command | None:
        """Return what a page of help needs."""
        entry = self.table.get(cmd_name)
        return (
            None
            if entry is None
            else TyperCommand(name=cmd_name, help=entry.help, rich_help_panel=entry.panel)
        )

    def resolve_command(
        self, ctx: Context, args: list[str]
    ) -> tuple[str | None, Command | None, list[str]]:
        """Return the command that is called, imported."""
        self.commands = {name: TyperCommand(name=name) for name in self.table}  # "did you mean"
        name, command, rest = super().resolve_command(ctx, args)
        if name is not None and command is not None:
            command = self.table[name].load()
            command.name = name
            command.context_settings = {**HELP_NAMES, **command.context_settings}
        return name, command, rest

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        windows_expand_args: bool = True,
        **extra: Any,
    ) -> Any:
        """Run; say what is wrong with a command line as every other error is said."""
        show_anything()
        given = list(sys.argv[1:] if args is None else args)
        try:
            result = super().main(
                given, prog_name, complete_var, False, windows_expand_args, **extra
            )
        except NoArgsIsHelpError as error:
            error.show()
            sys.exit(BAD_INPUT)
        except ClickException as error:
            say_error(_words(error), BAD_INPUT, as_json="--json" in given)
            sys.exit(BAD_INPUT)
        except typer.Abort:
            stopped = "stopped; run the same command again to go on."
            say_error(stopped, FAILED, as_json="--json" in given, kind="stopped")
            sys.exit(FAILED)
        if not standalone_mode:
            return result
        sys.exit(result if isinstance(result, int) else 0)


def _words(error: ClickException) -> str:
    """Say what is wrong with a command line, and where its help is."""
    message = harmless(error.format_message()).strip()
    if error.__cause__ is not None:  # pydantic judges the values, in its own words
        subject = message.partition(":")[0].removeprefix("Invalid value for ")
        message = f"{subject}: {faults_of(error.__cause__)}"
    message = f"{message[:1].lower()}{message[1:]}".rstrip(".")
    context = getattr(error, "ctx", None)
    path = "hybriddp" if context is None else context.command_path
    stop = "" if message.endswith("?") else "."
    return f"{message}{stop} `{path} --help` says what there is."
