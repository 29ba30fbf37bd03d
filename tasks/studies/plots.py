"""A study's plots as SVG and PNG: one sober style, and equal data gives equal bytes."""

import io
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from hybriddp.study_settings import TOP_QUERIES
from tasks.home import write_whole
from tasks.studies.model import MEASURES, QUANTITIES, Plot, Published, Series, Study, Sweep
from tasks.studies.tables import Table

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
    figure = Figure(figsize=(3.9 * len(sweeps) + 2.6, 3.7), layout="constrained")
    FigureCanvasAgg(figure)
    panels = figure.subplots(1, len(sweeps), squeeze=False)[0]
    ranks = sorted({value for sweep in sweeps for value in _line_values(sweep)[1]})
    for axes, sweep in zip(panels, sweeps, strict=True):
        _draw_panel(axes, sweep, plot, summary, ranks)
        _draw_published(axes, plot, [p for p in study.published if p.sweep == sweep.name])
        _label_x(axes, sweep)
        _label_y(axes, plot)
    label = MEASURES[plot.measure].label
    if plot.is_loss:
        label = f"1 - {label.replace('1 is best', '0 is best')}"
    panels[0].set_ylabel(label)
    figure.suptitle(plot.title, fontsize=11, fontweight="bold", x=0.01, horizontalalignment="left")
    _draw_legend(figure, panels)
    return figure


def _draw_legend(figure: "Figure", panels: Iterable["Axes"]) -> None:
    """Name every line once, beside the panels; what papers print comes last."""
    from matplotlib.lines import Line2D

    handles: dict[str, Any] = {}
    for axes in panels:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            handles.setdefault(label, handle)
    labels = sorted(handles, key=lambda label: (isinstance(handles[label], Line2D), _size(label)))
    figure.legend([handles[name] for name in labels], labels, loc="outside right upper")


def _size(label: str) -> float:
    """Return the list size that a label begins with, so that legends go from short to long."""
    return float(label.split()[2].rstrip(",")) if label.startswith("M = ") else 0.0


def _line_values(sweep: Sweep) -> tuple[str | None, tuple[float, ...]]:
    """Return what tells the lines of one series apart, if anything does, and its values."""
    return (sweep.x, sweep.xs) if sweep.base.kind == TOP_QUERIES else (sweep.line, sweep.lines)


def _draw_panel(axes: "Axes", sweep: Sweep, plot: Plot, summary: Table, ranks: list[float]) -> None:
    """Draw one line for each series and list size, with error bars of one standard error.

    `ranks` are the list sizes of all panels, so that one has the same colour in each; the series
    are told apart by dashes then. Without list sizes each series has its colour.
    """
    x = "part" if sweep.base.kind == TOP_QUERIES else sweep.x
    column, values = _line_values(sweep)
    for number, series in enumerate(plot.series):
        for line in values or (None,):
            rows = [row for row in summary if _belongs(row, sweep, series, column, line, x)]
            rows = [row for row in rows if row[plot.measure] is not None]
            rows.sort(key=lambda row: float(row[x]))
            if not rows:
                continue
            rank, dash, label = number, _DASHES[0], series.label
            if line is not None:
                rank, dash = ranks.index(line), _DASHES[number % len(_DASHES)]
                label = f"{_name_line(column, line)}, {series.method}"
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
    found = row.get("n_queries")
    return found is not None and found < row["max_head_size"] - 0.5


def _belongs(
    row: dict[str, Any],
    sweep: Sweep,
    series: Series,
    column: str | None,
    line: float | None,
    x: str,
) -> bool:
    """Say whether a row of the summary is a point of this line."""
    base = sweep.base
    fixed = {
        name: getattr(base, name)
        for name in (
            "population", "delta", "optin_fraction", "max_head_size", "epsilon", "kind", "plant",
            "headlist_user_fraction", "query_budget_fraction",
        )
        if name not in (sweep.x, sweep.line)
    }  # fmt: skip
    if column is not None:
        fixed[column] = line
    if x == "part":
        is_part = row["part"].isdigit()
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
    letter = {"max_head_size": "M", "epsilon": "epsilon"}.get(column or "", column)
    return f"{letter} = {line:g}"


def _label_x(axes: "Axes", sweep: Sweep) -> None:
    from matplotlib.ticker import MaxNLocator, NullLocator, PercentFormatter

    x = "part" if sweep.base.kind == TOP_QUERIES else sweep.x
    axes.set_title(sweep.title)
    axes.set_xlabel(QUANTITIES[x])
    if x == "delta":
        axes.set_xscale("log")
    elif x == "max_head_size":
        axes.set_xscale("log")
        axes.xaxis.set_minor_locator(NullLocator())
        axes.set_xticks(list(sweep.xs), [f"{value:g}" for value in sweep.xs])
    elif x == "optin_fraction":
        axes.set_xlabel(QUANTITIES[x].replace("share", "%"))
        decimals = 1 if max(sweep.xs) < 0.03 or len(sweep.xs) == 2 else 0
        axes.xaxis.set_major_formatter(PercentFormatter(1, decimals=decimals, symbol=""))
        if len(sweep.xs) <= 2:
            axes.set_xticks(list(sweep.xs))
            axes.set_xlim(min(sweep.xs) - 0.005, max(sweep.xs) + 0.005)
    elif x in ("epsilon", "part"):
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))


def _label_y(axes: "Axes", plot: Plot) -> None:
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter, ScalarFormatter

    if plot.is_logarithmic:
        axes.set_yscale("log")
        axes.yaxis.set_major_locator(LogLocator(base=10, subs=(1, 2, 5)))
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axes.yaxis.set_minor_formatter(NullFormatter())
    elif MEASURES[plot.measure].more_is_better:
        axes.yaxis.set_major_formatter(ScalarFormatter(useOffset=False))
    elif MEASURES[plot.measure].limits is not None:
        axes.set_ylim(MEASURES[plot.measure].limits)
    else:
        axes.set_ylim(bottom=0)
    nominal = MEASURES[plot.measure].nominal
    if nominal is not None:
        axes.axhline(nominal, color="#555555", linewidth=0.9, linestyle=":")
