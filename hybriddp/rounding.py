"""Numbers of the promise as text: what is promised is never printed smaller than it is."""

from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction

_DIGITS = 6
# Smaller numbers are written with an exponent, as Python's own "g" does.
_SMALLEST_PLAIN_EXPONENT = -4


def rounded_up(value: Fraction | int | float, digits: int = _DIGITS) -> str:
    """Return a number in this many digits, never below it: for what is promised or spent."""
    return _shown(Fraction(value), Context(prec=digits, rounding=ROUND_CEILING))


def rounded_down(value: Fraction | int | float, digits: int = _DIGITS) -> str:
    """Return a number in this many digits, never above it: for what is left or allowed."""
    return _shown(Fraction(value), Context(prec=digits, rounding=ROUND_FLOOR))


def _shown(value: Fraction, context: Context) -> str:
    # Division of two integers is rounded once, from the exact quotient.
    number = context.divide(Decimal(value.numerator), Decimal(value.denominator))
    if not number:
        return "0"
    exponent = number.adjusted()
    if _SMALLEST_PLAIN_EXPONENT <= exponent < context.prec:
        text = format(number, "f")
        return text.rstrip("0").rstrip(".") if "." in text else text
    mantissa = format(number.scaleb(-exponent), "f")
    mantissa = mantissa.rstrip("0").rstrip(".") if "." in mantissa else mantissa
    return f"{mantissa}e{exponent:+03d}"
