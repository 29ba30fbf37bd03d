"""`python -m bench.plots FOLDER`: draw the plots of docs/utility.md again, in about half an hour.

They come from fewer settings than `hybriddp study series` and `gaussian-finding` run, and noise is
normal and rounded, which at scales of thousands of units is the same law. Runs are kept in FOLDER.
"""

import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
from PIL import Image

from hybriddp.arrays import IntArray
from hybriddp.noise.gaussian import DiscreteGaussian
from hybriddp.params import GAUSSIAN, HIGH_UTILITY, PAPER
from hybriddp.studies.series.settings import FORGETFUL, ONCE, SERIES
from tasks.studies.catalogue import STUDIES
from tasks.studies.execute import execute
from tasks.studies.model import Study
from tasks.studies.pages.plots import write_plots
from tasks.studies.pages.tables import make_tables

PLOTS = Path(__file__).parents[1] / "docs" / "plots"
N_SEEDS = 3
# Of each study the plots that help to choose, and the methods to choose from.
SHOWN: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "series": {
        "queries": (SERIES, ONCE, FORGETFUL),
        "ndcg": (SERIES, ONCE),  # lists of one query have no order
        "l1-records": (SERIES, ONCE),
    },
    "gaussian-finding": {"queries": (GAUSSIAN, HIGH_UTILITY, PAPER)},
}
_N_COLOURS = 64
# What is below this many units would show that noise is rounded.
_LEAST_SCALE = 100


def small(study: Study, shown: Mapping[str, tuple[str, ...]]) -> Study:
    """Return a study of some of its plots, with the runs that these need."""
    plots = tuple(
        replace(
            plot,
            series=tuple(
                line for wanted in shown[plot.name] for line in plot.series if line.method == wanted
            ),
        )
        for plot in study.plots
        if plot.name in shown
    )
    swept = {name for plot in plots for name in plot.sweeps}
    methods = tuple(dict.fromkeys(method for some in shown.values() for method in some))
    sweeps = (replace(one, methods=methods) for one in study.sweeps if one.name in swept)
    return replace(study, sweeps=tuple(sweeps), plots=plots)


def _simulate(noise: DiscreteGaussian, counts: IntArray, *, rng: np.random.Generator) -> IntArray:
    assert noise.scale >= _LEAST_SCALE
    return np.asarray(counts) + np.rint(rng.normal(0, noise.scale, len(counts))).astype(np.int64)


def main(folder: Path) -> None:
    """Run what is missing, and draw."""
    DiscreteGaussian.simulate = _simulate  # type: ignore[assignment,method-assign]
    for name, shown in SHOWN.items():
        study = small(STUDIES[name], shown)
        runs = execute(
            study, folder / name, seeds=N_SEEDS, is_quick=False,
            progress=lambda done, total: print(f"{done} of {total} runs", flush=True),
        )  # fmt: skip
        PLOTS.mkdir(exist_ok=True)
        for drawn in write_plots(study, make_tables(runs).summary, folder / name):
            picture = Image.open(drawn.with_suffix(".png")).convert("RGB")
            few = picture.quantize(_N_COLOURS, dither=Image.Dither.NONE)
            few.save(PLOTS / f"{name}-{drawn.stem}.png", optimize=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
