"""A page for each study and one over all of them: plain HTML, nothing fetched from elsewhere."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from hybriddp.studies.blender.settings import TOP_QUERIES
from hybriddp.studies.zealous.parameters import CLOSED_FORM
from tasks.store.home import write_whole
from tasks.studies.blender.published import QUERY_NAMES
from tasks.studies.model import YANDEX, Column, Published, Study
from tasks.studies.pages.elements import MARK, listed, page, paragraphs, table, text
from tasks.studies.pages.measures import MEASURES, QUANTITIES
from tasks.studies.pages.tables import Table, Tables

_ITEM_KIND = "item_kind"  # which each study calls by its own word
_SETTING_COLUMNS = (
    "population", _ITEM_KIND, "change", "n_users", "epsilon", "delta", "optin_fraction",
    "max_head_size", "headlist_user_fraction", "query_budget_fraction", "relaxation",
    "items_per_user", "min_users", "first_threshold", "threshold", "noise", "n_iterations",
    "method", "part",
)  # fmt: skip
_SHORT = {
    "n_users": "people",
    "optin_fraction": "opt-in",
    "max_head_size": "M",
    "headlist_user_fraction": "f_O",
    "query_budget_fraction": "f_C",
    "items_per_user": "m",
    "min_users": "k",
    "first_threshold": "tau",
    "threshold": "tau'",
    "n_iterations": "tau",
}


def write_page(study: Study, tables: Tables, folder: Path, *, is_quick: bool) -> Path:
    """Write the study's page and what the index needs to know of it."""
    parts = [
        f"<h1>{text(study.title)}</h1>",
        f"<p>{text(study.question)}</p>",
        *paragraphs("quiet", [_origin(study), _runs(tables, is_quick=is_quick)]),
        f"<p>{text(study.reading)}</p>",
        f"<p><strong>{text(verdict(tables))}</strong></p>",
        *(
            f'<img src="{plot.name}.svg" alt="{text(plot.title)}">'
            for plot in study.plots
            if (folder / f"{plot.name}.svg").is_file()
        ),
        '<p class="quiet">Error bars: one standard error over the seeds. Hollow markers: the list '
        "was shorter than M on average.</p>",
        *_what_was_varied(study, tables),
        *_what_papers_say(study, tables),
        *listed("Limits", study.limits),
        "<h2>Summary: mean ± standard error</h2>",
        _summary_table(study, tables.summary),
        *_comparison(tables.comparison),
        _files(folder),
    ]
    path = folder / "index.html"
    write_whole(path, page(study.title, parts).encode())
    facts: dict[str, object] = {"name": study.name, "title": study.title, "figures": study.figures}
    facts |= {"verdict": verdict(tables), "is_quick": is_quick}
    write_whole(folder / "study.json", json.dumps(facts, indent=1).encode())
    return path


def write_index(parent: Path) -> Path | None:
    """Write the page over all studies of a folder, unless a stranger's is there."""
    path = parent / "index.html"
    if path.is_file() and MARK not in path.read_text(encoding="utf-8", errors="replace"):
        return None
    rows = []
    for facts_path in sorted(parent.glob("*/study.json")):
        facts = json.loads(facts_path.read_text(encoding="utf-8"))
        link = f'<a href="{facts_path.parent.name}/index.html">{text(facts["title"])}</a>'
        shown = [", ".join(facts["figures"]), facts["verdict"]]
        shown[1] += " (quick run)" if facts["is_quick"] else ""
        rows.append(f"<tr><td>{link}</td>{''.join(f'<td>{text(s)}</td>' for s in shown)}</tr>")
    head = "<thead><tr><th>study</th><th>in the papers</th><th>outcome</th></tr></thead>"
    listing = f'<table class="words">{head}<tbody>{"".join(rows)}</tbody></table>'
    body = ["<h1>Studies</h1>", "<p>On synthetic users; no budget was spent.</p>", listing]
    write_whole(path, page("Studies", body).encode())
    return path


def verdict(tables: Tables) -> str:
    """Say in how many settings strategy high-utility beats strategy paper, and where it loses."""
    if tables.outcome:
        return tables.outcome
    sentences = []
    for measure in dict.fromkeys(row["measure"] for row in tables.comparison):
        rows = [row for row in tables.comparison if row["measure"] == measure]
        counts = {word: sum(row["verdict"] == word for row in rows) for word in ("better", "worse")}
        sentences.append(
            f"{MEASURES[measure].short}: better in {counts['better']} of {len(rows)} settings, "
            f"worse in {counts['worse']}"
        )
    if not sentences:
        return "Nothing to compare between the two strategies."
    return f"High-utility against paper, beyond two standard errors: {'; '.join(sentences)}."


def _origin(study: Study) -> str:
    if not study.figures:
        return "Ours; the papers have no such figure."
    return f"After {', '.join(study.figures)}."


def _runs(tables: Tables, *, is_quick: bool) -> str:
    seeds = {
        population: len({run["seed"] for run in tables.runs if run["population"] == population})
        for population in dict.fromkeys(run["population"] for run in tables.runs)
    }
    if set(seeds) == {CLOSED_FORM}:
        return "Computed in closed form; nothing is drawn."
    words = ", ".join(f"{n} seeds for {population}" for population, n in seeds.items())
    fewer = (
        " Yandex-like users take ten times longer, so they get fewer seeds; with so few a "
        "standard error is itself uncertain, and some verdicts are chance."
        if YANDEX in seeds and not is_quick
        else ""
    )
    quick = " A quick run on small populations and few settings: for a look, not for a conclusion."
    return (
        f"Synthetic users: {words}. All methods and settings of a seed see the same users."
        f"{fewer}{quick if is_quick else ''}"
    )


def _what_was_varied(study: Study, tables: Tables) -> Iterable[str]:
    varied = _varied_columns(tables.summary)
    constant = [
        f"{study.item_word if name == _ITEM_KIND else QUANTITIES[name]} = {tables.summary[0][name]}"
        for name in _SETTING_COLUMNS
        if name not in varied and name in QUANTITIES and name != "part"
        if tables.summary and name in tables.summary[0]
    ]
    lines = []
    for sweep in study.sweeps:
        lines_of = f", for {_SHORT.get(sweep.line, sweep.line)} = " if sweep.line else ""
        lines_of += ", ".join(f"{value:g}" for value in sweep.lines)
        values = ", ".join(f"{value:g}" for value in sweep.xs)
        lines.append(f"{sweep.title}: {QUANTITIES[sweep.x]} over {values}{lines_of}.")
    if constant:
        lines.append(f"The same everywhere: {'; '.join(constant)}.")
    # A sweep that is drawn into several panels is told once.
    return listed("What was varied", list(dict.fromkeys(lines)))


def _what_papers_say(study: Study, tables: Tables) -> Iterable[str]:
    yield "<h2>What the papers say</h2>"
    if study.statements:
        yield f"<ul>{''.join(f'<li>{text(s)}</li>' for s in study.statements)}</ul>"
    if not study.published:
        yield '<p class="quiet">The texts print no values for these plots.</p>'
        return
    head = ("where", "at", "measure", "paper", *(column.title for column in study.columns))
    rows = [
        (
            point.source,
            _place(point, study),
            MEASURES[point.measure].short,
            f"{point.value:g}",
            *(_ours(point, study, tables.summary, column) for column in study.columns),
        )
        for point in study.published
    ]
    yield table(head, rows)


def _place(point: Published, study: Study) -> str:
    sweep = study.sweep(point.sweep)
    place = f"{_SHORT.get(sweep.x, sweep.x)} = {point.x:g}"
    if len({other.sweep for other in study.published if other.source == point.source}) > 1:
        place = f"{sweep.title}, {place}"
    if sweep.base.kind == TOP_QUERIES:
        place += f", {QUERY_NAMES[point.part]}"
    return place


def _ours(point: Published, study: Study, summary: Table, column: Column) -> str:
    sweep = study.sweep(point.sweep)
    wanted = {**sweep.fixed, sweep.x: point.x, "part": point.part, **dict(column.fields)}
    for row in summary:
        if all(row[name] == value for name, value in wanted.items()):
            return _mean(row, point.measure)
    return ""


def _summary_table(study: Study, summary: Table) -> str:
    columns = _varied_columns(summary)
    measures = [name for name in MEASURES if summary and name in summary[0]]
    short = {**_SHORT, _ITEM_KIND: study.item_word}
    head = [short.get(name, name) for name in columns] + ["seeds"]
    head += [MEASURES[name].short for name in measures]
    rows = [
        [_value(row[name]) for name in columns]
        + [str(row["n"])]
        + [_mean(row, name) for name in measures]
        for row in summary
    ]
    return table(head, rows)


def _comparison(comparison: Table) -> Iterable[str]:
    if not comparison:
        return
    yield "<h2>High-utility minus paper, on the same users</h2>"
    columns = [name for name in _varied_columns(comparison) if name != "method"]
    head = [_SHORT.get(name, name) for name in columns]
    head += ["measure", "paper", "high-utility", "difference", "verdict"]
    rows = [
        [_value(row[name]) for name in columns]
        + [MEASURES[row["measure"]].short, f"{row['base']:.4f}", f"{row['other']:.4f}"]
        + [_mean(row, "difference"), row["verdict"]]
        for row in comparison
    ]
    yield table(head, rows)


def _varied_columns(rows: Table) -> list[str]:
    return [
        name
        for name in _SETTING_COLUMNS
        if rows and name in rows[0] and len({row[name] for row in rows}) > 1
    ]


def _mean(row: dict[str, Any], measure: str) -> str:
    value, error = row.get(measure), row.get(f"{measure}_se")
    if value is None:
        return ""
    form = MEASURES[measure].form if measure in MEASURES else ".4f"
    return f"{value:{form}}" if error is None else f"{value:{form}} ± {error:{form}}"


def _value(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _files(folder: Path) -> str:
    names = sorted(path.name for path in folder.iterdir() if path.suffix in (".csv", ".parquet"))
    links = ", ".join(f'<a href="{name}">{name}</a>' for name in names)
    return f'<p class="quiet">Tables: {links}. Every plot is there as PNG, too.</p>'
