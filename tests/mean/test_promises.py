"""What a release of means must not do, whatever else changes."""

import shutil

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from pydantic import ValidationError

from hybriddp.mean.estimation import estimate_means
from tasks.gates.quality import GateRefused
from tasks.products.mean import NUMBERS, SUMS
from tasks.products.mean.draws import MeanRun
from tasks.products.mean.request import MECHANISM_VERSION
from tasks.products.mean.steps import ESTIMATION, show_noise
from tasks.products.mean.tables import by_key, second_guarantee
from tests.homes import new_home
from tests.mean.support import request_for, reserve_mean, usual_people, write_roster
from tests.release.support import spent_by_account


def test_what_is_shown_of_the_draws_does_not_look_at_them(one_number, root):
    """A page that showed a group's own sum would end the second guarantee."""
    shutil.copytree(one_number.home.root, root / "copy")
    home = new_home(root / "copy")
    copy = MeanRun(home, one_number.release_id, one_number.attempt, one_number.request)
    shutil.rmtree(copy.folder)  # whoever looks at the measurements fails
    assert len(list(show_noise(copy, None))) == 1


@pytest.mark.parametrize("one_number", [False, True])
@pytest.mark.parametrize(("n_optin", "n_clients", "weight"), [(50, 0, 1.0), (0, 50, 0.0)])
def test_a_group_alone_has_all_the_weight_and_is_compared_with_nobody(
    tmp_path, one_number, n_optin, n_clients, weight
):
    request = request_for(tmp_path / "log", one_number=one_number, weight="privacy")
    measured = {
        SUMS: pa.table({"key": ["all"], "n_people": [n_optin], "noisy_sum": [n_optin * 2**15]}),
        NUMBERS: pa.table(
            {"key": ["all"], "n_reports": [n_clients]}
            | {f"power_{power}": np.zeros(1) for power in (1, 2, 3, 4)}
        ),
    }
    [found], [agreed] = estimate_means(request.parameters().design, by_key(measured))
    assert found.estimate.value == pytest.approx(5.0)  # the middle of the grid
    assert found.estimate.weight == weight
    assert agreed.p_value is None


def test_gaussian_noise_alone_makes_no_second_guarantee(log):
    """Both means go into weight and cross-check, so more than one number is published."""
    request = request_for(log, noise="gaussian", report="gaussian")
    assert second_guarantee(request.parameters().design, [(300, 600)]) is None


@pytest.mark.parametrize("report", ["mixed", "bit", "window", "laplace"])
def test_one_number_takes_gaussian_reports_only(log, report):
    with pytest.raises(ValidationError, match="noise gaussian and report gaussian"):
        request_for(log, one_number=True, report=report)


def test_people_without_a_key_pay_nothing_however_many_they_are(home, root, log):
    people = usual_people() | {str(person): (person % 2, "") for person in range(100)}
    roster = write_roster(root / "roster.csv", people)
    run = reserve_mean(request_for(log, roster=roster, by="country"), home)
    assert sum(run.group_size(group) for group in (SUMS, NUMBERS)) == len(people) - 100
    assert len(spent_by_account(home)) == len(people) - 100


def test_files_that_are_too_large_are_not_published(usual):
    settings = usual.request.settings.model_copy(update={"max_bytes": 1})
    with pytest.raises(GateRefused, match="n_bytes"):
        usual.product.judge(usual, settings)


def test_another_mechanism_makes_another_release(log):
    assert request_for(log).measurement_parameters()["mechanism_version"] == MECHANISM_VERSION


def test_no_step_writes_or_shows_a_groups_own_mean_of_one_number(one_number):
    """Where both groups have people, only the votes of all are counted."""
    groups = pl.read_parquet(one_number.folder / "derived" / "group_means.parquet")
    own = [name for name in groups.columns if name.startswith(("optin_", "client_"))]
    own.remove("optin_people")
    assert len(own) == 6
    assert groups.select(own).null_count().row(0) == (1,) * 6
    assert groups["votes"].null_count() == 0
    agreement = pl.read_parquet(one_number.folder / "derived" / "agreement.parquet")
    assert agreement["p_value"].to_list() == [None]
    shown = [part for step in ESTIMATION for part in step.show(one_number, step.work(one_number))]
    assert [part.key for part in shown] == ["blended-means", "cross-check"]
    assert "was not compared" in shown[1].text
