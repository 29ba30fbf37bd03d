"""Is every head record's squared error near the floor of the best unbiased blend?

`python -m bench.floor` rehearses releases on one population and prints, for each setting, the mean
and the largest ratio over the records whose expected count in S is at least three thresholds.
"""

from collections import defaultdict
from fractions import Fraction

import numpy as np

from hybriddp.params import BlenderParams
from hybriddp.planning.populations import study_rng
from hybriddp.planning.rehearsals.counted import Stage
from hybriddp.planning.setting import Setting
from hybriddp.randomizers.subset import SubsetResponse
from tasks.plan.prior import from_profile

N_REHEARSALS = 1_000
SETTINGS = (("0.5", 50), ("1", 10), ("1", 50), ("2", 50), ("4", 10), ("4", 50), ("6", 50))
N_USERS, OPTIN = 519_371, Fraction(1, 20)


def measure(epsilon: str, max_head_size: int) -> tuple[int, float, float]:
    """Return how many records are judged, and their mean and largest ratio to the floor."""
    params = BlenderParams(
        epsilon, "1e-5", strategy="high-utility", max_head_size=max_head_size, max_records_optin=1
    )
    setting = Setting(params, N_USERS, OPTIN)
    stage, rng = Stage(from_profile("aol-like").prior, setting), study_rng(1)
    prior = stage.prior
    law = dict(
        zip(zip(prior.query_ids, prior.url_ids, strict=True), prior.probabilities, strict=True)
    )
    ratios: dict[tuple[int, int], list[float]] = defaultdict(list)
    n_optin = setting.n_finders + setting.n_measurers
    for _ in range(N_REHEARSALS):
        release = stage.rehearse(rng=rng)
        head_list = release.head_list
        response = SubsetResponse.for_budget(params.budget, head_list.n_cells)
        gap, lie = float(response.p_truth - response.p_lie), float(response.p_lie)
        shown = release.records.projected[head_list.record_cells]
        ids = head_list.query_ids[head_list.query_of_record]
        for record, value in zip(zip(ids, head_list.url_ids, strict=True), shown, strict=True):
            p = law.get(record, 0.0)
            if p * setting.n_finders < 3 * stage.mechanism.threshold:
                continue
            central = p * (1 - p) / n_optin + 2 * (2 / float(epsilon)) ** 2 / n_optin**2
            reported = lie + p * gap
            local = reported * (1 - reported) / (setting.n_clients * gap**2)
            ratios[record].append((value - p) ** 2 * (1 / central + 1 / local))
    means = [float(np.mean(found)) for found in ratios.values() if len(found) > N_REHEARSALS / 2]
    return len(means), float(np.mean(means)), max(means)


def as_markdown() -> str:
    """Return the table of docs/utility.md."""
    lines = ["| epsilon | M | records | mean | largest |", "|---|---|---|---|---|"]
    for epsilon, size in SETTINGS:
        n_records, mean, largest = measure(epsilon, size)
        lines.append(f"| {epsilon} | {size} | {n_records} | {mean:.2f} | {largest:.2f} |")
    return "\n".join(lines)


if __name__ == "__main__":
    print(as_markdown())
