"""Numbers as they were written, exactly.

Standard library only: devices read their parameters with this module.
"""

import re
import reprlib
from decimal import Decimal
from fractions import Fraction
from numbers import Rational

from hybriddp.errors import InvalidParameter

Number = int | float | str | Decimal | Fraction

# Longer or larger numbers are nobody's parameter.
_MAX_DIGITS, _MAX_EXPONENT = 4_000, 1_000


def exact(value: Number, name: str) -> Fraction:
    """Return the number that was written, as a fraction.

    A float counts as the decimal it prints as: 0.1 is one tenth, so that ten charges of 0.1
    fill a cap of 1 exactly.
    """
    try:
        if isinstance(value, bool):
            raise TypeError
        if isinstance(value, Rational):
            # A numpy integer would stay one inside the fraction, and overflow there.
            return Fraction(int(value.numerator), int(value.denominator))
        written = str(value)
        # 1e999999999 is nine letters, and a number that fills the memory.
        exponent = re.search(r"[eE]([-+]?[0-9_]+)$", written.strip())
        if len(written) > _MAX_DIGITS or (exponent and abs(int(exponent[1])) > _MAX_EXPONENT):
            raise ValueError
        return Fraction(written)
    except (ValueError, TypeError, ZeroDivisionError):
        raise InvalidParameter(
            f"{name} must be a finite number, got {reprlib.repr(value)}; write it like 4, 0.5 or "
            "1e-5."
        ) from None


def shown(number: Fraction) -> float | str:
    """Return a number as an error message prints it; a hostile file may hold one of any size."""
    try:
        return float(number)
    except OverflowError:
        return "a number beyond all floats"
