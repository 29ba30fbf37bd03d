"""A study's plots as SVG and PNG: one sober style, and equal data gives equal bytes."""

import io
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from tasks.store.home import write_whole
from tasks.studies.model import Plot, Published, Series, Study, Sweep
from tasks.studies.pages.measures import MEASURES
from tasks.studies.pages.plot_axes import label_above, label_x, label_y
from tasks.studies.pages.tables import Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe and Ito's colours, which colour-blind readers can tell apart, the darkest first.
_COLOURS = (
    "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000",
    "#8C6D1F", "#777777",
)  # fmt: skip
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">")
_DASHES = ("-", "--", ":", "-.")
_STYLE: dict[Any, Any] = {
    "svg.hashsalt": "hybriddp",
    "svg.fonttype": "path",
    "text.parse_math": False,  # a $ is a character
    "font.family": "DejaVu Sans",
    "font.size": 9.0,
    "axes.titlesize": 10.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#e4e4e4",
    "grid.linewidth": 0.6,
    "axes.axisbelow": True,
    "legend.frameon": False,
    "lines.linewidth": 1.4,
    "lines.markersize": 4.5,
}


def write_plots(study: Study, summary: Table, folder: Path) -> list[Path]:
    """Draw every plot of a study that has data; return the SVG files."""
    import matplotlib  # takes a second, and most commands draw nothing

    written = []
    with matplotlib.rc_context(_STYLE):
        for plot in study.plots:
            figure = _draw(study, plot, summary)
            for suffix, options in (
                ("svg", {"metadata": {"Date": None}}),
                ("png", {"dpi": 130, "metadata": {"Software": "hybriddp"}}),
            ):
                buffer = io.BytesIO()
                figure.savefig(buffer, format=suffix, **options)
                write_whole(folder / f"{plot.name}.{suffix}", buffer.getvalue())
            written.append(folder / f"{plot.name}.svg")
    return written


def _draw(study: Study, plot: Plot, summary: Table) -> "Figure":
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    sweeps = [study.sweep(name) for name in plot.sweeps]
    shown = [sweep for sweep in sweeps if not sweep.panel]
    # Four panels are two and two: beside each other nobody could read them on a page.
    rows, columns = (2, 2) if len(shown) == 4 else (1, len(shown))
    size = (3.9 * columns + 2.6, 3.7) if rows == 1 else (8.2, 7.0)
    figure = Figure(figsize=size, layout="constrained")
    FigureCanvasAgg(figure)
    panels = figure.subplots(rows, columns, squeeze=False).ravel()
    ranks = sorted({value for sweep in sweeps for value in _line_values(sweep, plot)[1]})
    drawn = list(panels)
    for axes, sweep in zip(panels, shown, strict=True):
        _draw_panel(axes, sweep, plot, summary, ranks)
        guests = [guest for guest in sweeps if guest.panel == sweep.name]
        drawn += [_draw_guest(axes, sweep, guest, plot, summary, ranks) for guest in guests]
        _draw_published(axes, plot, [p for p in study.published if p.sweep == sweep.name])
        label_x(axes, sweep, plot)
        label_y(axes, plot)
    label = MEASURES[plot.measure].label
    if plot.is_loss:
        label = f"1 - {label.replace('1 is best', '0 is best')}"
    for axes in panels[::columns]:
        axes.set_ylabel(label)
    figure.suptitle(plot.title, fontsize=11, fontweight="bold", x=0.01, horizontalalignment="left")
    _draw_legend(figure, drawn, is_below=rows > 1)
    return figure


def _draw_guest(
    axes: "Axes", host: Sweep, guest: Sweep, plot: Plot, summary: Table, ranks: list[float]
) -> "Axes":
    """Draw a sweep into the panel of another one, and return the axes that it is drawn on."""
    if len(guest.xs) == 1 and not plot.is_over_parts:
        for series in plot.series:
            rows = [row for row in summary if _belongs(row, guest, series, None, None, guest.x)]
            for row in rows:
                axes.axhline(
                    row[plot.measure], color="#000000", linewidth=1.1, linestyle=(0, (6, 3)),
                    label=series.label,
                )  # fmt: skip
        return axes
    if guest.x != host.x and not plot.is_over_parts:
        axes = axes.twiny()
        label_above(axes, guest)
    _draw_panel(axes, guest, plot, summary, ranks)
    return axes


def _draw_legend(figure: "Figure", panels: Iterable["Axes"], *, is_below: bool) -> None:
    """Name every line once, beside or below the panels; what papers print comes last."""
    from matplotlib.lines import Line2D

    handles: dict[str, Any] = {}
    for axes in panels:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            handles.setdefault(label, handle)
    labels = sorted(handles, key=lambda label: (isinstance(handles[label], Line2D), _size(label)))
    place: dict[str, Any] = {"loc": "outside right upper"}
    if is_below:
        place = {"loc": "outside lower left", "ncols": 3}
    figure.legend([handles[name] for name in labels], labels, **place)


def _size(label: str) -> float:
    """Return the list size that a label begins with, so that legends go from short to long."""
    return float(label.split()[2].rstrip(",")) if label.startswith("M = ") else 0.0


def _line_values(sweep: Sweep, plot: Plot) -> tuple[str | None, tuple[float, ...]]:
    """Return what tells the lines of one series apart, if anything does, and its values."""
    if plot.is_over_parts:
        return (sweep.x, sweep.xs) if len(sweep.xs) > 1 else (None, ())
    return sweep.line, sweep.lines


def _draw_panel(axes: "Axes", sweep: Sweep, plot: Plot, summary: Table, ranks: list[float]) -> None:
    """Draw one line for each series and list size, with error bars of one standard error.

    `ranks` are the list sizes of all panels, so that one has the same colour in each; the series
    are told apart by dashes then. Without list sizes each series has its colour.
    """
    x = "part" if plot.is_over_parts else sweep.x
    column, values = _line_values(sweep, plot)
    for number, series in enumerate(plot.series):
        for line in values or (None,):
            rows = [row for row in summary if _belongs(row, sweep, series, column, line, x)]
            rows = [row for row in rows if row[plot.measure] is not None]
            rows.sort(key=lambda row: float(row[x]))
            if not rows:
                continue
            rank, dash, label = number, _DASHES[0], series.label
            if line is not None:
                # The colours of a guest's lines come behind those of the panel's own series.
                first = len(plot.series) - 1 if sweep.panel else 0
                rank, dash = first + ranks.index(line), _DASHES[number % len(_DASHES)]
                label = f"{_name_line(column, line)}, {series.short or series.method}"
            _draw_line(axes, _points(rows, x, plot), rank, dash, label)


class _Point(NamedTuple):
    x: float
    y: float
    error: float
    is_short: bool  # the list was shorter than wanted, on average


def _points(rows: Table, x: str, plot: Plot) -> list[_Point]:
    points = [
        _Point(
            float(row[x]),
            1 - row[plot.measure] if plot.is_loss else row[plot.measure],
            row[f"{plot.measure}_se"] or 0.0,
            _is_short(row),
        )
        for row in rows
    ]
    return [point for point in points if point.y > 0 or not plot.is_logarithmic]


def _draw_line(axes: "Axes", points: list[_Point], rank: int, dash: str, label: str) -> None:
    colour, marker = _COLOURS[rank % len(_COLOURS)], _MARKERS[rank % len(_MARKERS)]
    axes.errorbar(
        [point.x for point in points], [point.y for point in points],
        yerr=[point.error for point in points], color=colour, linestyle=dash, marker=marker,
        capsize=2, elinewidth=0.9, label=label,
    )  # fmt: skip
    short = [point for point in points if point.is_short]
    if short:
        axes.plot(
            [point.x for point in short], [point.y for point in short], linestyle="none",
            marker=marker, color=colour, markerfacecolor="white", zorder=5,
        )  # fmt: skip


def _is_short(row: dict[str, Any]) -> bool:
    found, wanted = row.get("n_queries"), row.get("max_head_size")
    return found is not None and wanted is not None and found < wanted - 0.5


def _belongs(
    row: dict[str, Any],
    sweep: Sweep,
    series: Series,
    column: str | None,
    line: float | None,
    x: str,
) -> bool:
    """Say whether a row of the summary is a point of this line."""
    fixed = sweep.fixed
    if column is not None:
        fixed[column] = line
    if x == "part":
        is_part = row["part"].isdigit() and row[sweep.x] in sweep.xs
    else:
        is_part = row["part"] == series.part and row[sweep.x] in sweep.xs
    is_method = row["method"] == series.method
    return is_method and is_part and all(row[name] == value for name, value in fixed.items())


def _draw_published(axes: "Axes", plot: Plot, published: list[Published]) -> None:
    """Mark what a paper prints for this measure."""
    for source in dict.fromkeys(p.source for p in published):
        points = [
            (float(p.x), p.value)
            for p in published
            if p.source == source and p.measure == plot.measure
        ]
        if points:
            axes.plot(
                *zip(*points, strict=True), linestyle="none", marker="*", markersize=9,
                color="#000000", markerfacecolor="none", label=source.replace(", ", ",\n"),
            )  # fmt: skip


def _name_line(column: str | None, line: float | None) -> str:
    letter = {"max_head_size": "M", "items_per_user": "m"}.get(column or "", column)
    return f"{letter} = {line:g}"
