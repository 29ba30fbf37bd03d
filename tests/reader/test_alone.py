"""The reader needs the standard library, agrees with the publisher's own code, and is quick."""

import re

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from hybriddp.device import ed25519
from hybriddp.errors import InvalidParameter
from hybriddp.reader import REASONS, Reason, ReleaseRefused, open_release, signature, signed
from tasks.store import reading as stored
from tasks.verify import manifest as verified
from tasks.verify import taken_down
from tasks.verify.checks import VerificationFailed
from tasks.verify.verify import check_shelf, verify_release
from tests.device.test_ed25519 import RFC_8032, SMALL_ORDER
from tests.reader.variants import VARIANTS
from tests.repository import ROOT, run_python

NEEDED = """
import sys
before = set(sys.modules)
import hybriddp.reader
print(*{name.split(".")[0] for name in set(sys.modules) - before} - set(sys.stdlib_module_names))
print(*sys.modules)
"""
ALONE = """
import sys
class Alone:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] not in {"hybriddp", *sys.stdlib_module_names}:
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Alone())
from hybriddp.reader import open_release, ReleaseRefused
release = open_release(FOLDER, KEY)
print(len(release.lookup("")), release.manifest.sequence)
try:
    release.frame()
except Exception as error:
    print(error)
try:
    open_release(FOLDER, OTHER)
except ReleaseRefused as error:
    print(error.reason)
"""
QUICK = """
import time
started = time.process_time()
import hybriddp.reader
print(time.process_time() - started)
"""
REFUSED_BY_VERIFY = (
    "manifest a byte", "signature zeros", "signed: twice a key", "signed: sequence '2'",
    "trends.jsonl longer", "trends.jsonl at 0", "label.md truncated", "no trends.jsonl",
    "no manifest.json", "pointer says sequence 3", "half a notice, withdrawn.json",
    "a notice alone", "a notice of {'sequence': 1}", "another's notice alone",
    "signed: row {'extra': 1}",
)  # fmt: skip


def test_importing_it_imports_nothing_beyond_the_standard_library():
    added, everything = run_python(NEEDED).splitlines()
    assert added == "hybriddp"
    heavy = {"numpy", "pyarrow", "polars", "pandas", "pydantic", "cryptography", "http.client"}
    assert not heavy & set(everything.split())


def test_it_works_where_nothing_else_is_installed(shelf):
    other = Ed25519PrivateKey.generate().public_key().public_bytes_raw()
    names = f"FOLDER, KEY, OTHER = {str(shelf.path)!r}, {shelf.key!r}, {other!r}\n"
    said = run_python(names + ALONE).splitlines()
    assert said[0] == f"{len(open_release(shelf.path, shelf.key).queries)} 2"
    assert "pip install polars" in said[1]
    assert said[2] == "bad-signature"


def test_importing_it_takes_less_than_a_tenth_of_a_second():
    # The least of five: a busy machine makes it longer, never shorter.
    assert min(float(run_python(QUICK)) for _ in range(5)) < 0.1


def test_signatures_are_on_what_the_publisher_signs():
    assert signature.MANIFEST_CONTEXT == verified.SIGNING_CONTEXT
    assert signature.NOTICE_CONTEXT == taken_down.SIGNING_CONTEXT
    assert signed.MAX_MANIFEST_BYTES == stored.MAX_SMALL_BYTES
    assert signed.MAX_TABLE_BYTES == stored.MAX_TABLE_BYTES


@pytest.mark.parametrize(("key", "message", "good"), RFC_8032)
def test_with_and_without_cryptography_the_verdict_is_the_same(monkeypatch, key, message, good):
    key, message, good = (bytes.fromhex(text) for text in (key, message, good))
    s = int.from_bytes(good[32:], "little")
    tried = [
        good, bytes(64), good[:63], good + b"x", b"", good[32:] + good[:32],
        good[:32] + (s + ed25519._L).to_bytes(32, "little"),
        *(good[:i] + bytes([good[i] ^ 1]) + good[i + 1 :] for i in range(0, 64, 9)),
    ]  # fmt: skip
    with_it = [signature.is_signed(key, message, one) for one in tried]
    monkeypatch.setitem(__import__("sys").modules, "cryptography.exceptions", None)
    assert [signature.is_signed(key, message, one) for one in tried] == with_it
    assert with_it == [True] + [False] * (len(tried) - 1)


@pytest.mark.parametrize(
    "key",
    [
        *map(bytes.fromhex, SMALL_ORDER),
        *SMALL_ORDER,
        b"",
        bytes(31),
        "x",
        "00",
        None,
        5,
        2**40,
        [1],
    ],
)
def test_a_key_that_is_none_is_refused_before_anything_is_read(shelf, key):
    with pytest.raises(InvalidParameter, match="public_key must be an Ed25519 key"):
        open_release(shelf.path / "nowhere", key)


def test_a_key_may_be_given_as_its_file_says_it(shelf):
    for key in (shelf.key.hex(), f" {shelf.key.hex().upper()}\n", bytearray(shelf.key)):
        assert len(open_release(shelf.path, key)) > 0


@pytest.mark.parametrize("name", REFUSED_BY_VERIFY)
def test_what_verify_refuses_too_is_refused_in_the_same_words(name, shelf):
    _, spoil = VARIANTS[name]
    folder = shelf.newest
    spoil(shelf)

    def verify():
        manifest, _ = verify_release(folder, shelf.key)
        check_shelf(shelf.pointer, manifest, None)

    with pytest.raises(VerificationFailed) as by_verify:
        verify()
    with pytest.raises(ReleaseRefused) as by_reader:
        open_release(shelf.path, shelf.key)
    # A reader names a release's folder by its last part; of a place it may have the address.
    said = str(by_verify.value).replace(str(folder), folder.name)
    assert str(by_reader.value).replace(str(folder), folder.name) == said


def test_every_reason_has_a_kind_and_a_sentence_and_stands_on_the_page():
    assert set(REASONS) == set(Reason)
    page = (ROOT / "docs" / "reader.md").read_text()
    shown = dict(re.findall(r"^\| `([a-z-]+)` \| `\w+` \| (.+) \|$", page, re.MULTILINE))
    assert shown == {str(reason): sentence for reason, (_, sentence) in REASONS.items()}
    kinds = dict(re.findall(r"^\| `([a-z-]+)` \| `(\w+)` \|", page, re.MULTILINE))
    assert kinds == {str(reason): kind.__name__ for reason, (kind, _) in REASONS.items()}
    assert all(re.fullmatch(r"[A-Z].{20,120}\.", sentence) for _, sentence in REASONS.values())
