"""Exponentials of fractions to fifty digits, whatever the caller's decimal context is.

Standard library only. Privacy is decided with these numbers, never with floats.
"""

import math
from decimal import Context, Decimal
from fractions import Fraction

# Fifty digits leave thirty beyond a 64-bit word, and thirty-four beyond a double.
EXACT = Context(prec=50)
# Factors that turn a number known to fifty digits into a bound of the true one. The one downwards
# is the weaker, so that what was rounded up stays within what is rounded down.
UPWARDS = EXACT.add(1, Decimal("1e-40"))
DOWNWARDS = EXACT.subtract(1, Decimal("1e-45"))


def decimal_of(value: Fraction) -> Decimal:
    """Return the fraction as a decimal of fifty digits."""
    return EXACT.divide(Decimal(value.numerator), Decimal(value.denominator))


def exp(value: Fraction) -> Decimal:
    """Return e^value to fifty digits."""
    return EXACT.exp(decimal_of(value))


def float_above(value: Decimal) -> float:
    """Return a float that is not below the value."""
    nearest = float(value)
    return nearest if Decimal(nearest) >= value else math.nextafter(nearest, math.inf)
