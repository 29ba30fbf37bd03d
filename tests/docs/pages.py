"""What the pages of the documentation say: their blocks, commands, headings and links."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

from tests.repository import ROOT

README = ROOT / "README.md"
INDEX = ROOT / "docs" / "README.md"
PAGES = [*sorted(ROOT.glob("*.md")), *sorted(ROOT.glob("docs/**/*.md"))]
_FENCED = re.compile(r"^```(\w*)\n(.*?)^```$", flags=re.DOTALL | re.MULTILINE)
_CODE = re.compile(r"(`+)(.+?)\1", flags=re.DOTALL)
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#{1,6} +(.+?) *$", flags=re.MULTILINE)


def blocks(page: Path, *languages: str) -> list[tuple[str, str]]:
    """Return the fenced blocks in these languages, in order, each with its language."""
    found = _FENCED.findall(page.read_text())
    return [(language, text) for language, text in found if language in languages]


def prose(page: Path) -> str:
    """Return a page without its fenced blocks."""
    return _FENCED.sub("", page.read_text())


def code_spans(page: Path) -> list[str]:
    """Return what stands in backticks; a line may end inside of it."""
    return [" ".join(text.split()) for _, text in _CODE.findall(prose(page))]


def shell_lines(page: Path) -> list[str]:
    """Return the commands that a reader is to type."""
    return [line for _, text in blocks(page, "sh") for line in text.splitlines() if line]


def hybriddp_commands(page: Path) -> Iterator[list[str]]:
    """Yield the words behind `hybriddp` of every command that a page names."""
    for line in [*shell_lines(page), *code_spans(page)]:
        start = re.match(r"(?:\.venv/bin/)?hybriddp (?=\w|-)", line)
        if start:
            yield shlex.split(line[start.end() :])


def links(page: Path) -> list[str]:
    """Return where a page's links lead."""
    return _LINK.findall(prose(page))


def anchors(page: Path) -> set[str]:
    """Return the names that a page's headings get on the pages of GitHub and its like."""
    found: set[str] = set()
    for heading in _HEADING.findall(prose(page)):
        words = re.sub(r"[^\w\- ]", "", _LINK.sub("", heading).lower()).replace(" ", "-")
        n_before = sum(
            re.fullmatch(rf"{re.escape(words)}(-\d+)?", name) is not None for name in found
        )
        found.add(f"{words}-{n_before}" if n_before else words)
    return found


def target_of(page: Path, link: str) -> tuple[Path, str]:
    """Return the file and the anchor that a relative link names."""
    path, _, anchor = link.partition("#")
    return ((page.parent / path).resolve() if path else page), anchor
