"""Verify Ed25519 signatures (RFC 8032, section 5.1) with the standard library only.

Verification only, on purpose: it handles public values, so it may take its time as it likes.
Signing in Python would not run in constant time and could leak the key; the curator signs with
the `cryptography` package.

Points are (X, Y, Z, T) with x = X/Z, y = Y/Z, x y = T/Z on -x^2 + y^2 = 1 + d x^2 y^2.
"""

import hashlib

PUBLIC_KEY_BYTES = 32
SIGNATURE_BYTES = 64

_P = 2**255 - 19  # the field
_L = 2**252 + 27742317777372353535851937790883648493  # the order of the base point
_D = -121665 * pow(121666, -1, _P) % _P
_SQRT_MINUS_1 = pow(2, (_P - 1) // 4, _P)

_Point = tuple[int, int, int, int]
_NEUTRAL: _Point = (0, 1, 1, 0)
_BASE_X = 15112221349535400772501151409588531511454012693041857206046113283949847762202
_BASE_Y = 4 * pow(5, -1, _P) % _P
_BASE: _Point = (_BASE_X, _BASE_Y, 1, _BASE_X * _BASE_Y % _P)


def verify(public_key: bytes, message: bytes, signature: bytes) -> bool:
    """Tell whether this is the key's signature of the message, by the strict rules.

    Refused besides wrong signatures: s >= L (or else anybody could make a second signature from
    the first), points in another than their only canonical encoding, and keys of small order,
    for which one signature fits many messages.
    """
    key = _key_point(public_key)
    s = int.from_bytes(signature[32:], "little")
    if key is None or len(signature) != SIGNATURE_BYTES or s >= _L:
        return False
    digest = hashlib.sha512(signature[:32] + public_key + message).digest()
    k = int.from_bytes(digest, "little") % _L
    # s B = R + k A without cofactor, solved for R: comparing its encoding refuses any other one.
    x, y, z, t = key
    minus_key = (-x % _P, y, z, -t % _P)
    return _encode(_add(_multiply(s, _BASE), _multiply(k, minus_key))) == signature[:32]


def is_public_key(public_key: bytes) -> bool:
    """Tell whether these bytes can be a key by the strict rules of `verify`."""
    return _key_point(public_key) is not None


def _key_point(public_key: bytes) -> _Point | None:
    """Return a key's point, or None if no signature may be checked with it."""
    key = _decode(public_key) if len(public_key) == PUBLIC_KEY_BYTES else None
    if key is None or _encode(_multiply(8, key)) == _encode(_NEUTRAL):
        return None
    return key


def _add(a: _Point, b: _Point) -> _Point:
    """Add two points; the formula is complete, so it doubles as well (section 5.1.4)."""
    m = (a[1] - a[0]) * (b[1] - b[0]) % _P
    n = (a[1] + a[0]) * (b[1] + b[0]) % _P
    c = 2 * _D * a[3] * b[3] % _P
    d = 2 * a[2] * b[2] % _P
    e, f, g, h = n - m, d - c, d + c, n + m
    return e * f % _P, g * h % _P, f * g % _P, e * h % _P


def _multiply(scalar: int, point: _Point) -> _Point:
    result = _NEUTRAL
    while scalar:
        if scalar & 1:
            result = _add(result, point)
        point = _add(point, point)
        scalar >>= 1
    return result


def _encode(point: _Point) -> bytes:
    x, y, z, _ = point
    inverse = pow(z, -1, _P)
    x, y = x * inverse % _P, y * inverse % _P
    return (y | (x & 1) << 255).to_bytes(32, "little")


def _decode(encoded: bytes) -> _Point | None:
    """Return the point of an encoding, or None unless it is a point's canonical one."""
    number = int.from_bytes(encoded, "little")
    is_odd, y = number >> 255, number % 2**255
    if y >= _P:
        return None
    # x^2 = (y^2 - 1) / (d y^2 + 1); the root by section 5.1.3.
    square = (y * y - 1) * pow(_D * y * y + 1, -1, _P) % _P
    x = pow(square, (_P + 3) // 8, _P)
    if (x * x - square) % _P:
        x = x * _SQRT_MINUS_1 % _P
    if (x * x - square) % _P or (x == 0 and is_odd):
        return None
    if x & 1 != is_odd:
        x = _P - x
    return x, y, 1, x * y % _P
