"""Ten thousand odd but signed manifests of every kind of release: refused in words, or verified.

`make test` looks at a few hundred of them; here are enough to meet rare ones. Run by
`make campaign`, on its seed.
"""

import os
from pathlib import Path

import pytest

from tasks.products.clusters.draws import identify as identify_kmeans
from tasks.products.head_list.run import identify
from tasks.products.histograms.draws import identify as identify_zealous
from tasks.products.mean.draws import identify as identify_mean
from tasks.release.walk import run_release
from tests.clusters import support as clusters
from tests.homes import new_home
from tests.mean import support as mean
from tests.publish.checking.hostile import campaign
from tests.release import support as release
from tests.zealous import support as zealous

pytestmark = pytest.mark.long

N_CASES = int(os.environ.get("HYBRIDDP_HOSTILE_CASES", "10000"))


def made_by(kind: str, folder: Path):
    """Return a run of this kind, what runs it, and its folder on the shelf."""
    log = folder / "log.tsv"
    if kind == "search":
        release.write_log(log, map(str, range(release.N_PEOPLE)))
        return identify(release.request_for(log), new_home(folder / "home")), run_release
    if kind == "histograms":
        zealous.popular_log(log)
        return identify_zealous(zealous.request_for(log), new_home(folder / "home")), run_release
    log = folder / "log.csv"
    if kind == "clusters":
        clusters.write_points(log)
        return identify_kmeans(clusters.request_for(log), new_home(folder / "home")), run_release
    mean.write_numbers(log, mean.usual_rows())
    asked = mean.request_for(log, one_number=kind == "one number")
    return identify_mean(asked, new_home(folder / "home")), run_release


@pytest.mark.parametrize("kind", ["search", "histograms", "mean", "one number", "clusters"])
def test_no_odd_manifest_ends_in_anything_but_words(kind, tmp_path, monkeypatch):
    release.waive_gates(monkeypatch.setattr)
    run, run_all = made_by(kind, tmp_path)
    folder = run_all(run)
    seed = f"{kind} {os.environ.get('HYBRIDDP_TEST_SEED', '1')}"
    counted = campaign(folder, run.folder, seed, N_CASES)
    assert sum(counted.values()) == N_CASES
    assert counted["refused"] > N_CASES / 2
