"""Settings of a command: those of a file, and on top of them those of the command line."""

import re
import tomllib
from pathlib import Path
from typing import Any

from hybriddp.errors import require
from tasks.release.refusals import BadInput
from tasks.store.reading import Unreadable, read_file

_MAX_SETTINGS_BYTES = 1_000_000


def read_settings(config: Path | None, given: dict[str, Any], columns: list[str]) -> dict[str, Any]:
    """Put the settings of a file and of the command line together; the latter win."""
    settings = {} if config is None else read_toml(config)
    named = settings.pop("columns", {})
    if not isinstance(named, dict):
        raise BadInput(f"{config}: columns must be a table, such as columns = {{person = 'uid'}}.")
    mapping = dict(named)
    for pair in columns:
        name, equals, column = pair.partition("=")
        require(bool(equals), "--columns must look like person=UserId", repr(pair), "add the =")
        mapping[name] = column or None
    if mapping:
        settings["columns"] = mapping
    return {**settings, **given}


def read_toml(path: Path) -> dict[str, Any]:
    """Read a file of settings; say where it is wrong."""
    try:
        data = read_file(path.absolute().parent, path.name, _MAX_SETTINGS_BYTES)
        return tomllib.loads(data.decode("utf-8"))
    except Unreadable as error:
        raise BadInput(f"the settings cannot be read: {error}") from None
    except UnicodeDecodeError as error:
        raise BadInput(f"{path}: byte {error.start + 1} is not UTF-8; save it as such.") from None
    except (ValueError, RecursionError) as error:
        place = re.search(r"line (\d+), column (\d+)", str(error))
        where = f"line {place[1]}, column {place[2]}" if place else "its end"
        raise BadInput(
            f'{path}, {where}: this is no TOML; a setting looks like epoch = "2026-W46".'
        ) from None
