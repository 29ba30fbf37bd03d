"""Clouds of people, and quick requests for their clusters."""

from pathlib import Path

import numpy as np

from tasks.products.clusters.request import KMeansRequest

# Where the clouds are, in the units of the columns, and how many people each has.
CLOUDS = ((10.0, 100.0, 2_000), (30.0, 300.0, 1_000), (10.0, 300.0, 1_000))
UPPERS = (40.0, 400.0)


def write_points(path: Path) -> Path:
    """Write one row for each person, a fortieth of the range around their cloud."""
    rng, rows = np.random.default_rng(5), []
    for x, y, n_people in CLOUDS:
        near = rng.normal((x, y), (1.0, 10.0), (n_people, 2))
        rows += [f"{len(rows) + i},{a:.3f},{b:.3f}" for i, (a, b) in enumerate(near)]
    path.write_text("\n".join(["user,visits,seconds", *rows]) + "\n", encoding="utf-8")
    return path


def request_for(log: Path, **settings: object) -> KMeansRequest:
    """Ask for three clusters with little noise."""
    usual = {
        "epoch": "2026-W46",
        "points": [
            {"column": "visits", "upper": UPPERS[0]},
            {"column": "seconds", "upper": UPPERS[1], "per_person": "mean"},
        ],
        "n_clusters": 3,
        "n_iterations": 4,
        "epsilon": 12.0,
        "optin_fraction": 0.5,
        "columns": {"person": "user", "time": None},
    }
    return KMeansRequest(log=log, **(usual | settings))
