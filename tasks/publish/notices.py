"""What a folder says that was taken down, as any reader can read it: no key, no home."""

from pathlib import Path

from tasks.release.refusals import BadInput
from tasks.store.reading import Unreadable, parse_json, read_file

NOTICE, SIGNATURE = "withdrawn.json", "withdrawn.sig"


def is_taken_down(folder: Path) -> bool:
    """Whether a folder says that it was taken down; half a notice is one, too."""
    return any((folder / name).exists() for name in (NOTICE, SIGNATURE))


def why(folder: Path) -> str:
    """Say in words why a folder was taken down, as far as its notice can be read."""
    try:
        notice = parse_json(read_file(folder, NOTICE), NOTICE)
        replacement = notice.get("replaced_by")
        instead = f" Use {replacement} instead." if replacement else ""
        return f"taken down by its publisher on {notice['at']}: {notice['reason']}.{instead}"
    except (Unreadable, LookupError, TypeError, AttributeError):
        return "taken down by its publisher; its notice cannot be read."


def refuse_if_taken_down(folder: Path) -> None:
    """Refuse to read a folder that says that it was taken down; for readers without a key."""
    if is_taken_down(folder):
        raise BadInput(f"{folder} was {why(folder)}")
