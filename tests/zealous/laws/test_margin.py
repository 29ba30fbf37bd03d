"""The margin beside a published count is the least that holds."""

import pytest

from hybriddp.noise.laplace import DiscreteLaplace
from hybriddp.zealous.margin import noise_margin


@pytest.mark.parametrize("scale", [0.05, 0.3, 1.0, 7.5, 1234.5])
@pytest.mark.parametrize("level", [0.5, 0.05, 1e-6])
def test_a_margin_is_the_least_that_noise_exceeds_with_at_most_this_chance(scale, level):
    noise = DiscreteLaplace(scale)
    margin = noise_margin(noise, level)
    assert 2 * float(noise.tail(margin + 1)) <= level
    assert margin == 0 or 2 * float(noise.tail(margin)) > level
