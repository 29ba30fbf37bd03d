"""Local reports of a number: privacy, bias and noise of every law, by enumeration in fractions."""

import os
from fractions import Fraction as F

import numpy as np
import pytest

from hybriddp.errors import InvalidParameter
from hybriddp.noise.exponentials import exp
from hybriddp.params import Budget
from hybriddp.randomizers.numbers.bounded import BitReport, WindowReport
from hybriddp.randomizers.numbers.mixed import MixedReport
from hybriddp.randomizers.numbers.reports import LaplaceReport, Quadratic
from hybriddp.randomizers.response import N_WORDS

pytestmark = pytest.mark.exact

EPSILONS = [F(1, 1000), F(1, 10), F(1, 2), F(1), F(2), F(4), F(50)]
GRIDS = [1, 2, 7, 30]


def law_of(law, value):
    """Return {report: probability} of a finite law."""
    if isinstance(law, MixedReport):
        share = F(law.window_words, N_WORDS)
        window = {y: share * p for y, p in law_of(law.window, value).items()}
        return window | {b - 2: (1 - share) * p for b, p in law_of(law.bit, value).items()}
    return dict(enumerate(law.pmf(value)))


@pytest.mark.parametrize("kind", [BitReport, WindowReport, MixedReport])
@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("grid", GRIDS)
def test_no_report_is_likelier_than_e_to_the_epsilon_and_the_stated_ratio_is_reached(
    kind, epsilon, grid
):
    law = kind.for_budget(Budget(epsilon), grid)
    laws = [law_of(law, value) for value in range(grid + 1)]
    assert all(sum(pmf.values()) == 1 for pmf in laws)
    reports = [y for y in laws[0] if any(pmf[y] for pmf in laws)]
    worst = max(max(pmf[y] for pmf in laws) / min(pmf[y] for pmf in laws) for y in reports)
    if kind is not MixedReport:
        assert worst == law.likelihood_ratio
    assert worst <= F(exp(epsilon))
    assert law.keeps(Budget(epsilon))
    if epsilon < 20:  # e^50 is more than there are words; below, rounding gives away nothing
        assert worst > F(exp(epsilon)) * (1 - F(1, 10**9))
        assert not law.keeps(Budget(epsilon * (1 - F(1, 10**6))))


@pytest.mark.parametrize("kind", [BitReport, WindowReport, MixedReport])
@pytest.mark.parametrize("epsilon", EPSILONS[1:])
def test_reports_are_right_on_average_and_as_noisy_as_stated(kind, epsilon):
    grid = 30
    law = kind.for_budget(Budget(epsilon), grid)
    for value in (0, 1, 15, 30):
        pmf = {y: p for y, p in law_of(law, value).items() if p}
        reports, chances = np.array(list(pmf)), np.array([float(p) for p in pmf.values()])
        estimates = law.estimates(reports)
        mean, variance = chances @ estimates, chances @ (estimates - value) ** 2
        stated = float(law.noise.at(F(value)))
        assert mean == pytest.approx(value, abs=1e-9 * np.abs(estimates).max())
        assert variance == pytest.approx(stated, rel=1e-9)
        assert stated <= float(law.noise.largest(grid))
    noises = [law.noise.at(F(value)) for value in range(grid + 1)]
    assert law.noise.mean(15, 0) == pytest.approx(float(noises[15]))
    spread = np.array([0, 10, 30])
    average = np.mean([float(noises[value]) for value in spread])
    assert law.noise.mean(spread.mean(), spread.var()) == pytest.approx(average)


def test_largest_noise_is_found_inside_and_at_the_ends():
    assert Quadratic(F(1), F(4), F(-1)).largest(10) == 5  # at 2
    assert Quadratic(F(1), F(4), F(-1)).largest(1) == 4  # rising all the way
    assert Quadratic(F(9), F(-4), F(1)).largest(4) == 9


@pytest.mark.parametrize("epsilon", [F(1, 10), F(1), F(4)])
def test_laplace_reports_cost_at_most_epsilon(epsilon):
    law = LaplaceReport.for_budget(Budget(epsilon), 1000)
    assert epsilon * (1 - F(1, 10**12)) < F(1000) / F(law.scale) <= epsilon
    assert law.keeps(Budget(epsilon))
    assert not law.keeps(Budget(epsilon * (1 - F(1, 10**9))))


@pytest.mark.parametrize(
    ("epsilon", "against_laplace"), [(F(1, 2), 0.53), (F(1), 0.54), (F(2), 0.53), (F(4), 0.45)]
)
def test_mixed_reports_have_half_of_laplaces_noise_at_their_worst_value(epsilon, against_laplace):
    """And never more than either law that they mix (Wang et al. 2019, corollary 1)."""
    grid = 1 << 10
    bit, window, mixed, laplace = (
        law.for_budget(Budget(epsilon), grid).noise.largest(grid)
        for law in (BitReport, WindowReport, MixedReport, LaplaceReport)
    )
    assert mixed <= min(bit, window)
    assert float(mixed / laplace) < against_laplace


def test_bits_alone_are_best_for_small_epsilons_and_windows_for_large_ones():
    """The switch is at 0.61 (Wang et al. 2019, equation 12)."""
    assert MixedReport.for_budget(Budget(F(60, 100)), 1 << 12).window_words == 0
    assert MixedReport.for_budget(Budget(F(62, 100)), 1 << 12).window_words > 0
    share = MixedReport.for_budget(Budget(F(4)), 1 << 12).window_words / N_WORDS
    assert share == pytest.approx(1 - np.exp(-2), abs=1e-3)  # 1 - e^(-eps/2)


class Scripted:
    """Random bytes that were written down beforehand."""

    def __init__(self, *parts):
        self._parts = list(parts)

    def __call__(self, n_bytes):
        part = self._parts.pop(0) if n_bytes else b""
        assert len(part) == n_bytes
        return part


def words(*values, kind=np.uint64):
    return np.array(values, kind).tobytes()


def test_a_bit_is_one_below_its_limit_and_zero_from_it_on():
    law = BitReport(2, 1 << 60, 1 << 61)
    limits = [(1 << 60) + value * (1 << 61) for value in (0, 1, 2)]
    values = np.array([0, 1, 2])
    assert law.randomize(values, Scripted(words(*(x - 1 for x in limits)))).tolist() == [1, 1, 1]
    assert law.randomize(values, Scripted(words(*limits))).tolist() == [0, 0, 0]


def test_a_window_is_used_below_its_limit_and_all_numbers_from_it_on():
    law = WindowReport(6, 2, 1 << 62)
    values, limit = np.array([0, 6, 6, 6]), 1 << 62
    # Lemire: a 16-bit word w gives w * bound >> 16.
    reports = law.randomize(
        values,
        Scripted(
            words(limit - 1, 0, limit - 1, limit),
            words(0, 0, 0xFFFF, 0xFFFF, kind=np.uint16),
        ),
    )
    assert reports.tolist() == [0, 6, 7, 7]
    numbers = words(0, 0x2000, 0x4000, 0xFFFF, kind=np.uint16)
    everything = law.randomize(values, Scripted(words(*[limit] * 4), numbers))
    assert everything.tolist() == [0, 1, 2, 7]


@pytest.mark.parametrize("kind", [LaplaceReport, BitReport, WindowReport, MixedReport])
def test_values_off_the_grid_are_refused_and_not_quoted(kind):
    law = kind.for_budget(Budget(F(1)), 10)
    for values in ([-77], [3, 1177], [0.5]):
        with pytest.raises(InvalidParameter) as refusal:
            law.randomize(np.array(values), os.urandom)
        assert "77" not in str(refusal.value)
    assert len(law.randomize(np.zeros(0, np.int64), os.urandom)) == 0


@pytest.mark.parametrize(
    "build",
    [
        lambda: BitReport(10, N_WORDS // 2, 1),
        lambda: BitReport(10, 0, 1),
        lambda: WindowReport(10, 3, N_WORDS),
        lambda: WindowReport(10, 0, 1),
        lambda: MixedReport(
            BitReport.for_budget(Budget(F(1)), 9), WindowReport.for_budget(Budget(F(1)), 8), 5
        ),
        lambda: LaplaceReport(0, 1.0),
        lambda: BitReport.for_budget(Budget(F(1)), 1 << 21),
    ],
)
def test_laws_that_are_none_are_refused(build):
    with pytest.raises(InvalidParameter):
        build()
