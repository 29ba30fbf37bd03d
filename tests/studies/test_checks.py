"""What is planted in studies is what they say, and what they measure is right on known cases."""

from dataclasses import replace

import numpy as np
import pytest

from hybriddp.blender.clients import client_mechanism, reports_per_client
from hybriddp.blender.simulate import simulate
from hybriddp.planning.populations import study_rng
from hybriddp.studies.blender.checks import (
    DRIFT,
    FAKES,
    NOTHING,
    TOPIC,
    agreement_row,
    calibration_row,
    false_reports,
    with_drift,
)
from hybriddp.studies.blender.runs import run_setting
from hybriddp.studies.blender.settings import AGREEMENT, CALIBRATION, COMMON, Setting
from hybriddp.studies.blender.users import draw_users

SETTING = Setting(
    population="aol-like", delta=1e-5, optin_fraction=0.2, max_head_size=20, is_quick=True,
    method="high-utility",
)  # fmt: skip


@pytest.fixture(scope="module")
def users():
    return draw_users("aol-like", 1, is_quick=True)


@pytest.fixture(scope="module")
def release(users):
    params = SETTING.params("high-utility")
    return simulate(users.query_ids, users.url_ids, users.is_optin(0.2), params, rng=study_rng(5))


def test_people_with_many_records_give_five_of_them_and_report_the_first():
    users = draw_users("aol-like-many", 1, is_quick=True)
    query_ids, url_ids = users.records(5)
    assert query_ids.shape == url_ids.shape == (users.n_users, 5)
    assert (query_ids[:, 0] == users.query_ids).all()
    assert users.records(1)[0] is users.query_ids
    is_alike = (query_ids == query_ids[:, :1]).all(axis=1)
    assert 0.05 < is_alike.mean() < 0.5  # people with few records repeat them
    params = replace(SETTING, population="aol-like-many").params("high-utility")
    assert params.max_records_optin == 5
    assert replace(SETTING, population="aol-like-many").params("paper").max_records_optin == 1


def test_drift_changes_only_a_tenth_of_the_opt_in_people(users):
    is_optin = users.is_optin(0.2)
    for plant, share in ((NOTHING, 0.0), (DRIFT, 0.009), (TOPIC, 0.02), (FAKES, 0.0)):
        query_ids, url_ids = with_drift(users, is_optin, plant, rng=study_rng(3))
        is_changed = (query_ids != users.query_ids) | (url_ids != users.url_ids)
        assert not is_changed[~is_optin].any()
        assert is_changed[is_optin].mean() == pytest.approx(share, abs=0.004)


def test_false_reports_replace_honest_ones_and_push_one_url(release):
    params, head_list = SETTING.params("high-utility"), release.head_list
    per_client = reports_per_client(client_mechanism(head_list, params))
    counts = study_rng(1).multinomial(
        100_000 * per_client, np.full(head_list.n_cells, 1 / head_list.n_cells)
    )
    pushed = false_reports(params, 100_000, rng=study_rng(2))(head_list, counts)
    assert pushed.sum() == counts.sum()
    gained = pushed - counts
    target = head_list.record_cells[5]
    assert gained[target] == pytest.approx(500, abs=100)
    assert np.delete(gained, target).max() < 50


def test_intervals_that_hold_everything_cover_and_empty_ones_do_not(release, users):
    params = SETTING.params("high-utility")
    measured = calibration_row(release, users, params)
    assert 0.8 <= measured["coverage_records"] <= 1
    assert 0.1 < measured["error_over_floor"] < 5
    wide = replace(release.records, low=release.records.low * 0, high=release.records.high * 0 + 1)
    all_covered = calibration_row(replace(release, records=wide), users, params)
    assert all_covered["coverage_records"] == 1
    narrow = replace(release.records, low=release.records.high)
    assert (
        calibration_row(replace(release, records=narrow), users, params)["coverage_records"] < 0.1
    )
    assert calibration_row(release, users, SETTING.params("paper"))["error_over_floor"] is None


def test_every_kind_of_study_gives_its_measures(users, release):
    for kind, plant, measure in (
        (CALIBRATION, "", "coverage_ranks"),
        (AGREEMENT, FAKES, "found_pushed"),
        (COMMON, "", "l1_common"),
    ):
        for method in ("paper", "high-utility"):
            setting = replace(SETTING, kind=kind, plant=plant, method=method)
            row = run_setting("a study", setting, 1, users)[0]
            assert row[measure] is not None
            assert row == run_setting("a study", setting, 1, users)[0]
    assert agreement_row(release, NOTHING)["found_pushed"] is None
