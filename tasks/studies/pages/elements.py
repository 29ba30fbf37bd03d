"""What pages are made of: plain HTML, nothing fetched from elsewhere."""

import html
from collections.abc import Iterable, Sequence

# An index page without this mark is somebody else's, and is left alone.
MARK = "<!-- hybriddp studies -->"
_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; color: #222; max-width: 72rem; margin: 2rem auto;
  padding: 0 1rem; }
h1, h2 { line-height: 1.2; } h2 { margin-top: 2.2rem; }
img { max-width: 100%; height: auto; display: block; margin: 1rem 0; }
table { border-collapse: collapse; font-size: 0.85rem; font-variant-numeric: tabular-nums; }
th, td { padding: 0.2rem 0.7rem; text-align: right; border-bottom: 1px solid #e4e4e4; }
th:first-child, td:first-child { text-align: left; }
thead th { position: sticky; top: 0; background: #fff; border-bottom: 2px solid #999; }
.words td, .words th { text-align: left; vertical-align: top; }
.wide { overflow: auto; max-height: 34rem; } .quiet { color: #666; } .worse { color: #b00020; }
"""


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    cells = "".join(f"<th>{text(name)}</th>" for name in head)
    lines = []
    for row in rows:
        kind = ' class="worse"' if row and row[-1] == "worse" else ""
        lines.append(f"<tr{kind}>{''.join(f'<td>{text(cell)}</td>' for cell in row)}</tr>")
    return (
        f'<div class="wide"><table><thead><tr>{cells}</tr></thead>'
        f"<tbody>{''.join(lines)}</tbody></table></div>"
    )


def listed(title: str, lines: Sequence[str]) -> Iterable[str]:
    if lines:
        yield f"<h2>{text(title)}</h2>"
        yield f"<ul>{''.join(f'<li>{text(line)}</li>' for line in lines)}</ul>"


def paragraphs(kind: str, lines: Iterable[str]) -> Iterable[str]:
    return (f'<p class="{kind}">{text(line)}</p>' for line in lines)


def text(words: object) -> str:
    return html.escape(str(words))


def page(title: str, parts: Iterable[str]) -> str:
    body = "\n".join(parts)
    return (
        f'<!doctype html>\n{MARK}\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta name="viewport" content="width=device-width"><title>{text(title)}</title>'
        f"<style>{_STYLE}</style></head>\n<body>\n{body}\n</body></html>\n"
    )
