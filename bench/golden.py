"""`make golden`: write again what the docs show of the program's own output; review the diff."""

import re
from pathlib import Path

from bench import fidelity

ROOT = Path(__file__).parents[1]


def _replace(path: Path, pattern: str, text: str) -> None:
    old = path.read_text()
    new, n_replaced = re.subn(pattern, lambda _: text, old, count=1, flags=re.DOTALL)
    if n_replaced != 1:
        raise SystemExit(f"{path.name} has lost the place of its generated text: {pattern}")
    path.write_text(new)


if __name__ == "__main__":
    table = fidelity.as_markdown(fidelity.measure())
    _replace(ROOT / "docs" / "fidelity.md", r"\| epsilon \|.*?\n(?!\|)", f"{table}\n")
