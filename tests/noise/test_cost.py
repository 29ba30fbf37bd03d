"""The cost of the curator's noise is the one that OpenDP, which draws it, states."""

import math
import random
from fractions import Fraction

import numpy as np
import pytest

from hybriddp.errors import InvalidParameter
from hybriddp.noise import laplace as noise
from hybriddp.noise.laplace import DiscreteLaplace

pytestmark = pytest.mark.exact


def test_cost_is_that_of_opendps_privacy_map():
    """The map rounds up: at scales whose quotient is no float, that is another float."""
    choose = random.Random(5)
    n_rounded = 0
    for _ in range(400):
        scale = choose.choice((choose.uniform(0.01, 100), 10 ** choose.uniform(-3, 12)))
        l1_sensitivity = choose.choice((1, 2, 3, choose.randint(1, 1_000), 2**40 + 1))
        stated = noise._measurement.__wrapped__(scale).map(l1_sensitivity)
        assert DiscreteLaplace(scale).epsilon(l1_sensitivity) == Fraction(stated)
        n_rounded += Fraction(stated) != Fraction(l1_sensitivity) / Fraction(scale)
    assert n_rounded > 300


@pytest.mark.parametrize("epsilon", ["0.1", "1/3", "1", "4", "1e-9"])
def test_least_noise_of_a_budget_keeps_it_and_the_next_less_does_not(epsilon):
    budget = Fraction(epsilon)
    least = DiscreteLaplace.for_epsilon(budget, 7)
    assert Fraction(7) / Fraction(least.scale) <= budget
    assert DiscreteLaplace(math.nextafter(least.scale, 0)).epsilon(7) > budget


def test_nothing_is_drawn_if_opendp_states_another_cost(monkeypatch):
    dearer = noise._measurement(math.nextafter(2.0, 0))
    monkeypatch.setattr(noise, "_measurement", lambda scale: dearer)
    with pytest.raises(InvalidParameter, match="OpenDP's privacy map"):
        DiscreteLaplace(2.0).draw(np.zeros(3, np.int64))
