"""Lists of texts among what is published: which rows a table has, and how much each weighs."""

from pathlib import Path
from typing import Any

from tasks.ledger.rules import Entry
from tasks.publish.shelf import read_rows
from tasks.publish.standing import Standing, folder_name
from tasks.store.home import Home

Texts = tuple[str, ...]


def latest_folder(home: Home, product: str, locale: str) -> Path | None:
    """Return the newest release that stands and is on the shelf."""
    shelf = home.shelf(product, locale)

    def is_there(publication: Entry) -> bool:
        return (shelf / folder_name(publication) / "manifest.json").exists()

    newest = Standing.of(home, product, locale).newest(is_there)
    return shelf / folder_name(newest) if newest else None


def weights_of(rows: list[dict[str, Any]]) -> dict[Texts, float]:
    """Return what every row of a list weighs: the number that stands right after its texts."""
    weights = {}
    for row in rows:
        names = list(row)
        texts = [name for name in names if isinstance(row[name], str)]
        weight = row[names[names.index(texts[-1]) + 1]]
        weights[tuple(row[name] for name in texts)] = float(weight)
    return weights


def read_list(folder: Path, name: str) -> dict[Texts, float]:
    """Return the rows of a published list with their weights."""
    return weights_of(read_rows(folder, name))
