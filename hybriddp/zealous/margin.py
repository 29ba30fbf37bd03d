"""How far noise moves a published count: what a label says beside it."""

import math

from hybriddp.noise.laplace import DiscreteLaplace


def noise_margin(noise: DiscreteLaplace, level: float) -> int:
    """Return the least distance that noise exceeds with at most this chance.

    P(|Y| > k) = 2 a^(k+1)/(1+a), where a = noise.decay.
    """
    # The logarithm may be off by one in its last digit.
    margin = max(int(noise.scale * math.log(2 / level / (1 + noise.decay))) - 2, 0)
    while 2 * float(noise.tail(margin + 1)) > level:
        margin += 1
    return margin
