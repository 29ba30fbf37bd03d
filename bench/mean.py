"""What a mean of ten million people costs, clients included, against as many uniform numbers.

`python -m bench mean`. Everything is a process of its own and runs three times, in turns; the
fastest counts, because the machine is shared.
"""

import sys
import tempfile
from itertools import count
from pathlib import Path

from bench.release import Cost, run_process

UNIFORMS_LIMIT = 20.0
GROWTH_LIMIT = 1.3
MEMORY_LIMIT_GB = 2.0
PEOPLE = (4_000_000, 10_000_000)
_ROUNDS = 3
LAWS = ("mixed", "laplace", "gaussian")

_UNIFORMS = """
import os, sys
import numpy as np
n = int(sys.argv[1])
words = np.frombuffer(os.urandom(8 * n), np.uint64)
numbers = (words >> np.uint64(11)) * 2.0**-53
"""

# One in a hundred opts in; the variance is estimated, the weight chosen, and an interval given.
_MEAN = """
import sys
import time
import numpy as np
from hybriddp.mean.estimate import ESTIMATED, blend, local_mean, trusted_mean
from hybriddp.mean.clients import ClientMeanMechanism
from hybriddp.randomizers.numbers.grid import ValueGrid
from hybriddp.mean.trusted import BoundedSumMechanism
from hybriddp.mean.variance import variance_from_reports
from hybriddp.params import Budget
start = time.perf_counter()
n, kind, budget, grid = int(sys.argv[1]), sys.argv[2], Budget(1, "1e-7"), ValueGrid(1)
n_trusted = n // 100
positions = grid.place(np.random.default_rng(1).random(n)).positions
trusted, local = positions[:n_trusted], positions[n_trusted:]
build = BoundedSumMechanism.gaussian if kind == "gaussian" else BoundedSumMechanism.for_budget
sums = build(budget, grid.n_steps)
clients = ClientMeanMechanism.for_budget(budget, kind, grid.n_steps)
noisy = sums.draw(trusted, np.zeros(n_trusted, np.int64), 1)
said = clients.draw(local, np.zeros(n - n_trusted, np.int64), 1)
variance = variance_from_reports(said, 0, clients.law.noise, grid.n_steps)
found = blend(
    trusted_mean(int(noisy[0]), n_trusted, sums.noise, grid),
    local_mean(said, 0, clients.law, grid, variance),
    1.0, ESTIMATED, variance.scaled(grid.step),
)
assert abs(found.value - 0.5) < 0.02
print(time.perf_counter() - start)
"""


def measure() -> list[tuple[str, float, float]]:
    """Return (label, ratio, limit) of every promise about means."""
    results = []
    with tempfile.TemporaryDirectory() as folder:
        homes = (Path(folder) / str(number) for number in count())

        def cost(code: str, *arguments: object) -> Cost:
            return run_process([sys.executable, "-c", code, *map(str, arguments)], next(homes))

        for kind in LAWS:
            rounds = [
                (
                    cost(_UNIFORMS, PEOPLE[1]),
                    cost(_MEAN, PEOPLE[0], kind),
                    cost(_MEAN, PEOPLE[1], kind),
                )
                for _ in range(_ROUNDS)
            ]
            of_uniforms, of_few, of_many = zip(*rounds, strict=True)
            uniforms, large = (min(done.seconds for done in c) for c in (of_uniforms, of_many))
            # Without imports, which take as long as the rest.
            few, many = (min(float(done.output) for done in c) for c in (of_few, of_many))
            peak = max(done.peak_gb for done in of_many)
            print(
                f"  {kind}: {large:.1f} s of which imports {large - many:.1f} s, {peak:.2f} GB; "
                f"uniforms {uniforms:.1f} s",
                flush=True,
            )
            label = f"a mean of {PEOPLE[1]:,} people, {kind} / as many OS uniforms"
            results.append((label, large / uniforms, UNIFORMS_LIMIT))
            results.append(("peak memory of that in GB", peak, MEMORY_LIMIT_GB))
            growth = many / few / (PEOPLE[1] / PEOPLE[0])
            results.append(("a person at 10 M / at 4 M (linear is 1)", growth, GROWTH_LIMIT))
    return results
