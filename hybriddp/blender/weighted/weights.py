"""What one person gives: weights to what they searched for, and shares of what they searched.

Both are vectors of whole units that are not negative and of bounded length, so that replacing a
person moves their sum by at most sqrt(2) times that length.
"""

import math

from hybriddp.errors import require_count

# Units of a weight of one, and of a share of one: fine enough that rounding down costs little, and
# coarse enough that noise and sums stay small integers.
WEIGHT_UNITS = 1_000
SHARE_UNITS = 10_000


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

    A person's shares are not negative and sum up to at most H = `units`, so replacing them moves
    their squares by at most 2 H^2, and their concentration by at most that of one share of H.
    """
    return 2 * units**2 + concentration_of(units, units) ** 2


def concentration_of(share: int, units: int = SHARE_UNITS) -> int:
    """Return what a person's share of one record adds to the concentration: a quarter of share^2.

    In units, and rounded: several shares never add more than their sum as one share would
    (docs/proofs/weighted_list.md).
    """
    return (share**2 + 2 * units) // (4 * units)
