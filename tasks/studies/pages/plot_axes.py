"""The axes of a study's plots: their names, their ticks, and which are logarithmic."""

from typing import TYPE_CHECKING

from tasks.studies.model import Plot, Sweep
from tasks.studies.pages.measures import MEASURES, QUANTITIES

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def label_x(axes: "Axes", sweep: Sweep, plot: Plot) -> None:
    """Name what is varied, below a panel."""
    from matplotlib.ticker import MaxNLocator, NullLocator, PercentFormatter

    x = "part" if plot.is_over_parts else sweep.x
    axes.set_title(sweep.title)
    over = plot.parts_label if x == "part" else ""
    axes.set_xlabel(QUANTITIES.get(over, over) or QUANTITIES[x])
    if x == "delta" or (over and over not in QUANTITIES):
        axes.set_xscale("log")
    elif x in ("max_head_size", "items_per_user", "n_users", "records_per_user"):
        axes.set_xscale("log")
        axes.xaxis.set_minor_locator(NullLocator())
        axes.set_xticks(list(sweep.xs), [f"{value:,.10g}" for value in sweep.xs])
    elif x == "optin_fraction":
        axes.set_xlabel(QUANTITIES[x].replace("share", "%"))
        decimals = 1 if max(sweep.xs) < 0.03 or len(sweep.xs) == 2 else 0
        axes.xaxis.set_major_formatter(PercentFormatter(1, decimals=decimals, symbol=""))
        if len(sweep.xs) <= 2:
            axes.set_xticks(list(sweep.xs))
            axes.set_xlim(min(sweep.xs) - 0.005, max(sweep.xs) + 0.005)
    elif x in ("epsilon", "part", "n_iterations"):
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))


def label_above(axes: "Axes", sweep: Sweep) -> None:
    """Name what a guest of the panel varies, above it."""
    from matplotlib.ticker import MaxNLocator

    axes.set_xlabel(QUANTITIES[sweep.x])
    axes.spines["top"].set_visible(True)
    axes.grid(visible=False)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))


def label_y(axes: "Axes", plot: Plot) -> None:
    """Choose the scale of what is measured."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter, ScalarFormatter

    if plot.is_logarithmic:
        axes.set_yscale("log")
        low, high = axes.get_ylim()
        is_wide = low > 0 and high > 1e4 * low
        axes.yaxis.set_major_locator(LogLocator(base=10, subs=(1,) if is_wide else (1, 2, 5)))
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axes.yaxis.set_minor_formatter(NullFormatter())
    elif plot.limits is not None:
        axes.set_ylim(plot.limits)
    elif MEASURES[plot.measure].more_is_better:
        axes.yaxis.set_major_formatter(ScalarFormatter(useOffset=False))
    elif MEASURES[plot.measure].limits is not None:
        axes.set_ylim(MEASURES[plot.measure].limits)
    else:
        axes.set_ylim(bottom=0)
    nominal = MEASURES[plot.measure].nominal
    if nominal is not None:
        axes.axhline(nominal, color="#555555", linewidth=0.9, linestyle=":")
