"""What one person gives: weights to what they searched for, and shares of what they searched.

Both are vectors of whole units that are not negative and of bounded length, so that replacing a
person moves their sum by at most sqrt(2) times that length.
"""

import math

from hybriddp.errors import require_count

# Units of a weight of one, and of a share of one: fine enough that rounding down costs little, and
# coarse enough that noise and sums stay small integers.
WEIGHT_UNITS = 1_000
SHARE_UNITS = 1_000


def weight_of(n_records: int, units: int = WEIGHT_UNITS) -> int:
    """Return what each of a person's records gets: 1/sqrt(n), rounded down to units.

    n weights u have n u^2 <= units^2 (GGKSSY20, with a grid).
    """
    require_count(n_records, "n_records")
    return math.isqrt(units**2 // n_records)


def weights_up_to(most_records: int, units: int = WEIGHT_UNITS) -> list[int]:
    """Return the weights of people with 1, 2, ..., `most_records` records."""
    return [weight_of(n, units) for n in range(1, most_records + 1)]


def squared_shift_of_weights(units: int = WEIGHT_UNITS) -> int:
    """Return how far replacing a person moves the sum of weights, squared."""
    return 2 * units**2


def squared_shift_of_shares(units: int = SHARE_UNITS) -> int:
    """Return how far replacing a person moves shares and their concentration, squared.

    A person's shares x of listed cells sum up to at most H = `units`, so X = |x|^2 <= H^2. Beside
    them stands e = floor((H - 1) X/H^2). Replaced, they move by at most X + X' in all squares, and
    e by at most (1 - 1/H) |X - X'|/H + 1. The sum of the squares is convex in X and X', so it is
    largest in a corner: 2 H^2 + 1 where both are H^2, and 2 H^2 where one is 0.
    """
    return 2 * units**2 + 1


def concentration_of(squares: int, units: int = SHARE_UNITS) -> int:
    """Return e, the concentration of a person's shares whose squares sum up to this."""
    return (units - 1) * squares // units**2
