"""From stored sums to published means, against the same in other words and units."""

import math
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest

import tasks.products.mean.draws
from hybriddp.errors import HybridDPError
from hybriddp.mean.estimate import MeanEstimate
from hybriddp.mean.estimation import KeyAgreement, KeyMean, estimate_means
from hybriddp.randomizers.numbers.errors import MeanSetting
from tasks.products.mean import NUMBERS, SQUARES, SUMS
from tasks.products.mean.draws import draw_reports, draw_squares, draw_sums
from tasks.products.mean.tables import build_table, by_key, describe_check
from tests.mean.support import measurements_of, request_for, reserve_mean, write_numbers

GRID, UPPER = 65_536, 10.0
N_OPTIN, N_CLIENTS = 10_000, 90_000
# Numbers of 3 and 5 in both groups: the mean is 4, the variance 1.
MEAN, VARIANCE = 4.0, 1.0


def measured(law, trusted_mean=MEAN, local_mean=MEAN) -> dict[str, pa.Table]:
    """Return what would be measured if all noise were 0 but spread as much as it does."""
    steps = GRID / UPPER
    middle = local_mean * steps - GRID / 2
    noise = law.noise.mean(local_mean * steps, VARIANCE * steps**2)
    spread = VARIANCE * steps**2 + noise
    # Moments of a normal variable of this mean and spread.
    powers = [
        middle, middle**2 + spread, middle**3 + 3 * middle * spread,
        middle**4 + 6 * middle**2 * spread + 3 * spread**2,
    ]  # fmt: skip
    return {
        SUMS: pa.table(
            {"key": ["all"], "n_people": [N_OPTIN],
             "noisy_sum": [round(trusted_mean * steps * N_OPTIN)]}
        ),
        SQUARES: pa.table(
            {"key": ["all"], "n_pairs": [N_OPTIN // 2],
             "noisy_sum": [round(2 * VARIANCE * steps**2 * (N_OPTIN // 2))]}
        ),
        NUMBERS: pa.table(
            {"key": ["all"], "n_reports": [N_CLIENTS]}
            | {f"power_{p + 1}": [N_CLIENTS * power] for p, power in enumerate(powers)}
        ),
    }  # fmt: skip


def estimated(tmp_path, trusted_mean=MEAN, local_mean=MEAN, **settings):
    design = request_for(tmp_path / "log", **settings).parameters().design
    tables = measured(design.reports.law, trusted_mean, local_mean)
    if design.squares is None:
        del tables[SQUARES]
    found = estimate_means(design, by_key(tables))
    square = (UPPER / GRID) ** 2
    noise = design.reports.law.noise.mean(MEAN * GRID / UPPER, VARIANCE / square) * square
    trusted = design.sums.noise.variance * square / N_OPTIN**2
    said = SimpleNamespace(estimate=found.means[0].estimate, agreement=found.agreements[0].p_value)
    return said, (N_OPTIN + N_CLIENTS, N_OPTIN / (N_OPTIN + N_CLIENTS), trusted, noise)


def test_a_known_variance_is_in_the_units_of_the_column(tmp_path):
    """All in the column's units, by MEAN20's formulas."""
    found, known = estimated(tmp_path, weight="known-variance", known_sd=1.5, report="laplace")
    setting = MeanSetting.alike(*known, 1.5**2)
    assert found.estimate.value == pytest.approx(MEAN, rel=1e-6)
    assert found.estimate.weight == pytest.approx(setting.weight_known_variance, rel=1e-6)
    error = setting.error_hybrid(found.estimate.weight)
    assert found.estimate.error == pytest.approx(error, rel=1e-6)


def test_an_estimated_variance_is_smaller_for_weights_and_larger_for_intervals(tmp_path):
    """Of so many people both views are near the variance itself."""
    found, known = estimated(tmp_path, epsilon=8.0, report="laplace")
    best = MeanSetting.alike(*known, VARIANCE)
    cautious = MeanSetting.alike(*known, 0.0)
    assert best.weight_known_variance < found.estimate.weight < cautious.weight_privacy
    assert best.error_hybrid(found.estimate.weight) < found.estimate.error
    assert found.estimate.error < 2 * best.error_hybrid(found.estimate.weight)


def test_squares_that_are_paid_for_are_used(tmp_path):
    """Bits say nothing of the variance: without squares the weight is PWH's."""
    paid, known = estimated(tmp_path, epsilon=8.0, report="bit", variance_share=0.3)
    unpaid, _ = estimated(tmp_path, epsilon=8.0, report="bit", variance_share=0)
    best = float(MeanSetting.alike(*known, VARIANCE).weight_known_variance)
    assert best < paid.estimate.weight < 1.2 * best
    assert unpaid.estimate.weight > 0.99


def test_noise_on_squares_makes_weights_cautious(tmp_path):
    """Eight standard errors of their noise: at this epsilon .75 of a variance of 1."""
    found, known = estimated(tmp_path, epsilon=0.5, report="bit", variance_share=0.3)
    weights = [
        float(MeanSetting.alike(*known, variance).weight_known_variance) for variance in (0.5, 0.0)
    ]
    assert weights[0] < found.estimate.weight < weights[1]


def test_one_number_is_the_mean_of_all_votes(tmp_path):
    found, _ = estimated(tmp_path, one_number=True)
    assert found.estimate.value == pytest.approx(MEAN, rel=1e-6)


def test_agreement_takes_an_ample_variance_and_no_more(tmp_path):
    settings = {"epsilon": 8.0, "report": "laplace", "trusted_mean": 4.02, "local_mean": 3.98}
    apart, _ = estimated(tmp_path, **settings)
    unknown, _ = estimated(tmp_path, **settings, weight="privacy")
    sampling = VARIANCE * (1 / N_OPTIN + 1 / N_CLIENTS)
    variance = sampling + 2 * (UPPER / 8) ** 2 / N_CLIENTS
    bound = 2 * math.exp(-(0.04**2) / (2 * variance))
    assert bound < apart.agreement < 3 * bound
    assert unknown.agreement == 1


def test_measurements_of_different_keys_are_not_put_together(tmp_path):
    design = request_for(tmp_path / "log").parameters().design
    tables = measured(design.reports.law)
    for group, table in tables.items():
        other = pa.Table.from_pylist([{**table.to_pylist()[0], "key": "another"}])
        with pytest.raises(HybridDPError, match="not about the same keys"):
            estimate_means(design, by_key({**tables, group: other}))


def test_keys_of_nobody_are_not_published(tmp_path):
    design = request_for(tmp_path / "log").parameters().design
    tables = measured(design.reports.law)
    nobody = {
        SUMS: {"n_people": 0}, SQUARES: {"n_pairs": 0}, NUMBERS: {"n_reports": 0},
    }  # fmt: skip
    both = {
        group: pa.Table.from_pylist(
            [table.to_pylist()[0], {**table.to_pylist()[0], **nobody[group], "key": "nobody"}]
        )
        for group, table in tables.items()
    }
    assert [found.key for found in estimate_means(design, by_key(both)).means] == ["all"]


def mean_of(key: str, value: float) -> KeyMean:
    return KeyMean(key, 1, 1, MeanEstimate(value, 0.5, 1.0, value - 1, value + 1))


def test_rows_are_in_the_order_of_keys_and_the_least_likely_key_counts_for_all():
    means = [mean_of("b", 1.0), mean_of("a", 2.0), mean_of("c", 0.5)]
    assert build_table(means, 2)["key"].to_pylist() == ["a", "b", "c"]
    found = [KeyAgreement("b", 0.04), KeyAgreement("a", 0.5), KeyAgreement("c", None)]
    assert describe_check(found) == {"compared": 2, "p_value": "0.08"}
    assert describe_check(found[2:]) == {"compared": 0, "p_value": None}


@pytest.fixture
def counted(monkeypatch):
    """What each draw would add noise to, instead of the draw."""
    found = {}

    def count_only(_run, group, _event, count, _draw):
        found[group] = count()

    monkeypatch.setattr(tasks.products.mean.draws, "draw_once", count_only)
    return found


def test_one_person_moves_one_square_and_everybody_stands_on_the_grid(root, home, counted):
    """Pairs are in an order that nobody's number decides, so one person is in one pair."""
    log, settings = root / "log.csv", {"optin_fraction": 0.9, "epsilon": 1}
    rows = [(str(person), str((person % 7) / 0.7)) for person in range(400)]
    before = None
    for product, own in (("p0", "0"), ("p1", "10"), ("p2", "3.3")):
        write_numbers(log, [("5", own), *(row for row in rows if row[0] != "5")])
        run = reserve_mean(request_for(log, product=product, **settings), home)
        for draw in (draw_sums, draw_squares, draw_reports):
            draw(run)
        assert set(counted) == {SUMS, SQUARES, NUMBERS}
        positions = set(counted[SUMS].positions.tolist()) | set(counted[NUMBERS].positions.tolist())
        shared = {round(i / 0.7 * GRID / UPPER) for i in range(7)}
        assert positions == shared | {round(float(own) / UPPER * GRID)}
        squares = counted[SQUARES].positions
        assert len(squares) == run.group_size(SQUARES) // 2
        assert squares.max() <= GRID**2
        if before is not None:
            assert np.count_nonzero(squares != before) <= 1
        before = squares


def test_pairs_are_counted_as_pairs(usual):
    assert measurements_of(usual)[SQUARES]["n_pairs"].to_pylist() == [30, 30, 30]
