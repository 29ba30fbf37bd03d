"""The device's own signature check, against the RFC and against an independent library."""

import hashlib
import random

import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from hybriddp.device.ed25519 import _L, _P, _decode, verify

# RFC 8032, section 7.1: public key, message, signature of TEST 1, 2, 3 and SHA(abc).
RFC_8032 = [
    (
        "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
        "",
        "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701c"
        "f9b46bd25bf5f0595bbe24655141438e7a100b",
    ),
    (
        "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
        "72",
        "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0"
        "f11d8c387b2eaeb4302aeeb00d291612bb0c00",
    ),
    (
        "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025",
        "af82",
        "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f76098"
        "4dc6594a7c15e9716ed28dc027beceea1ec40a",
    ),
    (
        "ec172b93ad5e563bf4932c70e1245034c35467ef2efd4d64ebf819683467e2bf",
        hashlib.sha512(b"abc").hexdigest(),
        "dc2a4459e7369633a52b1bf277839a00201009a3efbf3ecb69bea2186c26b58909351fc9ac90b3ecfdfbc7c664"
        "31e0303dca179c138ac17ad9bef1177331a704",
    ),
]
NEUTRAL = (1).to_bytes(32, "little")
# All points of order 1, 2, 4 and 8.
SMALL_ORDER = [
    NEUTRAL.hex(),
    (_P - 1).to_bytes(32, "little").hex(),
    "00" * 32,
    "00" * 31 + "80",
    "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
    "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc85",
    "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
    "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa",
]
SEED = bytes(range(32))
SIGNER = Ed25519PrivateKey.from_private_bytes(SEED)
KEY = SIGNER.public_key().public_bytes_raw()


@pytest.mark.parametrize(("key", "message", "signature"), RFC_8032)
def test_vectors_of_the_rfc_pass(key, message, signature):
    assert verify(bytes.fromhex(key), bytes.fromhex(message), bytes.fromhex(signature))


def test_agrees_with_cryptography_on_good_and_foreign_signatures():
    source = random.Random(1)
    for size in (0, 1, 63, 64, 1000, *range(100, 115)):
        signer = Ed25519PrivateKey.from_private_bytes(source.randbytes(32))
        key, message = signer.public_key().public_bytes_raw(), source.randbytes(size)
        assert verify(key, message, signer.sign(message))
        foreign = SIGNER.sign(message)
        with pytest.raises(InvalidSignature):
            Ed25519PublicKey.from_public_bytes(key).verify(foreign, message)
        assert not verify(key, message, foreign)


def test_every_flipped_bit_is_refused():
    """Every fifth bit, so each byte and each position in a byte."""
    message = b"collection package of 24"
    good = {"public_key": KEY, "message": message, "signature": SIGNER.sign(message)}
    assert verify(**good)
    for name, value in good.items():
        for bit in range(0, 8 * len(value), 5):
            flipped = int.from_bytes(value, "little") ^ (1 << bit)
            assert not verify(**{**good, name: flipped.to_bytes(len(value), "little")}), (name, bit)


def test_second_signature_made_from_the_first_is_refused():
    signature = SIGNER.sign(b"m")
    s = int.from_bytes(signature[32:], "little")
    assert verify(KEY, b"m", signature[:32] + s.to_bytes(32, "little"))
    assert not verify(KEY, b"m", signature[:32] + (s + _L).to_bytes(32, "little"))


def test_wrong_lengths_are_refused():
    signature = SIGNER.sign(b"m")
    for key in (b"", KEY[:-1], KEY + b"\0"):
        assert not verify(key, b"m", signature)
    for other in (b"", signature[:-1], signature + b"\0", signature[:32]):
        assert not verify(KEY, b"m", other)


@pytest.mark.parametrize("key", SMALL_ORDER)
def test_keys_of_small_order_are_refused(key):
    """With s = 0 and R = 0 such a key would accept one message in at most eight, or all."""
    assert _decode(bytes.fromhex(key)) is not None  # a point, so its order is what is refused
    forged = NEUTRAL + bytes(32)
    assert not any(verify(bytes.fromhex(key), bytes([n]), forged) for n in range(64))


def test_only_canonical_encodings_are_points():
    for y in range(19):  # y + p still fits into 255 bits
        assert _decode((_P + y).to_bytes(32, "little")) is None
        assert _decode((_P + y | 1 << 255).to_bytes(32, "little")) is None
    for y in (1, _P - 1):  # x = 0 has no odd twin
        assert _decode((y | 1 << 255).to_bytes(32, "little")) is None
    assert _decode((2).to_bytes(32, "little")) is None  # no point has y = 2


def test_commitment_in_another_encoding_is_refused():
    """The signer can sign with R = 0, in its canonical form 1 or written as p + 1."""
    secret = int.from_bytes(hashlib.sha512(SEED).digest()[:32], "little")
    secret = secret & ~7 & ~(1 << 255) | 1 << 254
    for commitment, is_accepted in ((NEUTRAL, True), ((_P + 1).to_bytes(32, "little"), False)):
        k = int.from_bytes(hashlib.sha512(commitment + KEY + b"m").digest(), "little")
        s = (k * secret % _L).to_bytes(32, "little")
        assert verify(KEY, b"m", commitment + s) is is_accepted
