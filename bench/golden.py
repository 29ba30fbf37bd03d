"""`make golden`: write again what the docs show of the program's own output; review the diff."""

import os
import re
import subprocess
import sys
from pathlib import Path

from bench import fidelity

ROOT = Path(__file__).parents[1]


def _replace(path: Path, pattern: str, text: str) -> None:
    old = path.read_text()
    new, n_replaced = re.subn(pattern, lambda _: text, old, count=1, flags=re.DOTALL)
    if n_replaced != 1:
        raise SystemExit(f"{path.name} has lost the place of its generated text: {pattern}")
    path.write_text(new)


def _shown_release() -> str:
    command = [
        str(Path(sys.executable).with_name("hybriddp")),
        "simulate",
        "--seed",
        "1",
        "--rows",
        "5",
    ]
    environment = {**os.environ, "COLUMNS": "110"}
    shown = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return "\n".join(line.rstrip() for line in shown.stdout.strip("\n").splitlines())


if __name__ == "__main__":
    _replace(ROOT / "README.md", r"```text\n.*?```", f"```text\n{_shown_release()}\n```")
    table = fidelity.as_markdown(fidelity.measure())
    _replace(ROOT / "docs" / "fidelity.md", r"\| epsilon \|.*?\n(?!\|)", f"{table}\n")
