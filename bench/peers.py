"""What a release costs beside OpenDP's Polars path and PipelineDP, in one run.

`python -m bench peers` makes an environment for each of them with pip, so that theirs never mixes
with ours; a peer that cannot be installed is left out, and said to be. All read the same Parquet
file of half a million people with one record each, in processes of their own; CPU seconds count.

Ours is a whole release: three groups, gates, ledger, estimates, files. Theirs is the central part
alone: a noisy count of every (query, url) that passes a threshold, without imports.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

from bench.release import run_process
from bench.steps import EPOCH, Cost
from hybriddp.planning.populations import study_rng
from hybriddp.planning.profiles import aol_like
from tasks.log.epochs import Epoch
from tasks.synthetic.generate import write_log

DRAWS_LIMIT, WHOLE_LIMIT = 0.4, 1.0
N_PEOPLE, REPETITIONS = 500_000, 3
# Our draws and estimates: what the peers' central part is compared with.
DRAWS = (
    "draw head list", "draw opt-in histogram", "trim head list", "collect client reports",
    "denoise", "blend", "project", "estimate intervals", "cross-check the groups",
)  # fmt: skip
_PACKAGES = {
    "OpenDP Polars": ("opendp[polars]==0.16.0",),
    "PipelineDP": ("pipeline-dp==0.3.1", "pyarrow==26.0.1"),
}
_CPU = """
import resource, sys
def cpu():
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime
"""
_CENTRAL = {
    "OpenDP Polars": _CPU + """
import polars as pl, opendp.prelude as dp
dp.enable_features("contrib")
before = cpu()
rows = pl.scan_parquet(sys.argv[1]).filter(pl.col("ClickURL").is_not_null())
context = dp.Context.compositor(
    data=rows.select("Query", "ClickURL"),
    privacy_unit=dp.unit_of(contributions=1),
    privacy_loss=dp.loss_of(epsilon=4.0, delta=1e-5),
    split_evenly_over=1,
)
context.query().group_by("Query", "ClickURL").agg(dp.len()).release().collect()
print(cpu() - before)
""",
    "PipelineDP": _CPU + """
import pipeline_dp as pdp, pyarrow.parquet as pq
before = cpu()
table = pq.read_table(sys.argv[1], columns=["AnonID", "Query", "ClickURL"])
columns = (table[name].to_pylist() for name in table.column_names)
rows = [(person, (query, url)) for person, query, url in zip(*columns) if url is not None]
budget = pdp.NaiveBudgetAccountant(total_epsilon=4, total_delta=1e-5)
engine = pdp.DPEngine(budget, pdp.LocalBackend())
wanted = pdp.AggregateParams(
    noise_kind=pdp.NoiseKind.LAPLACE, metrics=[pdp.Metrics.PRIVACY_ID_COUNT],
    max_partitions_contributed=1, max_contributions_per_partition=1,
)
extractors = pdp.DataExtractors(
    privacy_id_extractor=lambda row: row[0], partition_extractor=lambda row: row[1],
    value_extractor=lambda row: 1,
)
found = engine.aggregate(rows, wanted, extractors)
budget.compute_budgets()
list(found)
print(cpu() - before)
""",
}  # fmt: skip


def _python_with(packages: tuple[str, ...], folder: Path) -> Path | None:
    """Make an environment with these packages; None if they cannot be had."""
    python = folder / "bin" / "python"
    try:
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        install = [str(python), "-m", "pip", "install", "-q", *packages]
        subprocess.run(install, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return python


def _peers(folder: Path) -> dict[str, Path]:
    found = {}
    for name, packages in _PACKAGES.items():
        python = _python_with(packages, folder / name.replace(" ", "-"))
        if python is None:
            print(f"  {name} cannot be installed here, so it is not measured", flush=True)
        else:
            found[name] = python
    return found


def _release(log: Path, home: Path) -> dict[str, Cost]:
    ended = run_process([sys.executable, "-m", "bench.steps", str(log)], home)
    return {title: Cost(*cost) for title, cost in json.loads(ended.output).items()}


def measure() -> list[tuple[str, float, float]]:
    """Return (label, ratio, limit) of what is promised beside OpenDP's central part."""
    # Its own packages alone: ours would be found first.
    os.environ["PYTHONNOUSERSITE"] = "1"
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        log, peers = folder / "log.parquet", _peers(folder)
        write_log(
            aol_like(rng=study_rng(1)), N_PEOPLE, log, seed=1, epoch=Epoch.parse(EPOCH),
            records_per_user="one", no_click_share=0.3,
        )  # fmt: skip
        draws, wholes = [], []
        for turn in range(REPETITIONS):
            steps = _release(log, folder / f"home{turn}")
            drawn, whole = (
                sum(cost.cpu for title, cost in steps.items() if title in titles)
                for titles in (DRAWS, steps)
            )
            theirs = {
                peer: float(
                    run_process(
                        [str(python), "-c", _CENTRAL[peer], str(log)], folder / f"{peer}{turn}"
                    ).output.splitlines()[-1]
                )
                for peer, python in peers.items()
            }
            said = ", ".join(f"{peer} {cpu:.1f} s" for peer, cpu in theirs.items())
            print(f"  ours {whole:.1f} s, of which draws {drawn:.1f} s; {said}", flush=True)
            print("    " + ", ".join(f"{t} {c.cpu:.1f}" for t, c in steps.items() if c.cpu > 0.05))
            if "OpenDP Polars" in theirs:
                draws.append(drawn / theirs["OpenDP Polars"])
                wholes.append(whole / theirs["OpenDP Polars"])
    if not draws:
        return []
    beside = f"of {N_PEOPLE:,} people with one record each / OpenDP Polars' central part"
    return [
        (f"draws and estimates {beside}", median(draws), DRAWS_LIMIT),
        (f"whole release from Parquet {beside}", median(wholes), WHOLE_LIMIT),
    ]
