"""Releases that no reader may give out, each with the one word for why.

Each takes a shelf and spoils it. Those in FOLDERS need what no web server can show.
"""

import json
import os
from collections.abc import Callable
from functools import partial

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from hybriddp.device.canonical import canonical_json
from hybriddp.device.ed25519 import _L
from tasks.verify.manifest import signed_bytes
from tasks.verify.taken_down import SIGNING_CONTEXT
from tests.reader.shelves import Shelf

Spoil = Callable[[Shelf], object]
VARIANTS: dict[str, tuple[str, Spoil]] = {}
FOLDERS: dict[str, tuple[str, Spoil]] = {}
READ = ("head_list.jsonl", "trends.jsonl", "changes.jsonl", "label.md")
STRANGER = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))


def _add(reason: str, name: str, spoil: Spoil, among: dict[str, tuple[str, Spoil]] = VARIANTS):
    assert name not in among
    among[name] = reason, spoil


def write(name: str, data: bytes, shelf: Shelf) -> None:
    (shelf.path / name).write_bytes(data)


def rewrite(name: str, change: Callable[[bytes], bytes], shelf: Shelf) -> None:
    path = shelf.newest / name
    path.write_bytes(change(path.read_bytes()))


def flipped(place: int, data: bytes) -> bytes:
    place %= len(data)
    return data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :]


def _pointers() -> None:
    odd = {
        "is empty": b"", "is no JSON": b"{", "is a list": b"[]", "is a text": b'"x"',
        "is null": b"null",
        "has a byte order mark": b"\xef\xbb\xbf{}", "is UTF-16": '{"release":"x"}'.encode("utf-16"),
        "is Latin-1": b'{"release":"\xe9"}', "is deep": b"[" * 60_000, "holds NaN": b'{"a":NaN}',
        "holds a number without end": b'{"a":' + b"9" * 9_000 + b"}",
    }  # fmt: skip
    for what, data in odd.items():
        _add("malformed", f"pointer {what}", partial(write, "latest.json", data))
    for name in (None, 1, "", ".", "..", "../x", "/etc", "a/b", "..\\x", "%2e%2e", "A" * 32, "a\n"):
        _add(
            "malformed", f"pointer names {name!r}",
            lambda shelf, name=name: shelf.point(**(shelf.pointer | {"release": name})),
        )  # fmt: skip
    facts = {
        "sequence": (None, 1, 3, True, "2", 2.5), "epoch": (None, "2026-W40"),
        "expires": (None, "2099-01-01T00:00:00+00:00"),
    }  # fmt: skip
    for field, values in facts.items():
        for value in values:
            _add(
                "mixed-up", f"pointer says {field} {value!r}",
                lambda shelf, f=field, v=value: shelf.point(**(shelf.pointer | {f: v})),
            )  # fmt: skip
    _add("mixed-up", "pointer of this week to last week's",
         lambda shelf: shelf.point(**(shelf.pointer | {"release": shelf.older.name})))  # fmt: skip
    _add("missing", "pointer to nothing",
         lambda shelf: shelf.point(**(shelf.pointer | {"release": "0" * 32})))  # fmt: skip
    _add("missing", "no pointer", lambda shelf: (shelf.path / "latest.json").unlink())
    _add("too-large", "pointer without end", partial(write, "latest.json", b" " * (2**16 + 1)))


def _malleable(signature: bytes) -> bytes:
    s = int.from_bytes(signature[32:], "little") + _L
    return signature[:32] + s.to_bytes(32, "little")


def _last_weeks(shelf: Shelf) -> None:
    for name in ("manifest.json", "manifest.sig"):
        write(f"{shelf.newest.name}/{name}", (shelf.older / name).read_bytes(), shelf)


def _signed_as(context: bytes, shelf: Shelf) -> None:
    data = (shelf.newest / "manifest.json").read_bytes()
    write(f"{shelf.newest.name}/manifest.sig", shelf.sign(context + data), shelf)


def _signatures() -> None:
    changes = {
        "first byte": partial(flipped, 0), "a byte": partial(flipped, 999),
        "last byte": partial(flipped, -1), "truncated": lambda data: data[:-1],
        "halved": lambda data: data[: len(data) // 2], "a space more": lambda data: data + b" ",
        "CRLF": lambda data: data.replace(b"\n", b"\r\n"), "empty": lambda _: b"",
        "doubled": lambda data: data + data, "with a mark": lambda data: b"\xef\xbb\xbf" + data,
    }  # fmt: skip
    for what, change in changes.items():
        _add("bad-signature", f"manifest {what}", partial(rewrite, "manifest.json", change))
    signatures = {
        "zeros": lambda _: bytes(64), "a bit": partial(flipped, 63), "short": lambda s: s[:63],
        "empty": lambda _: b"", "malleable": _malleable, "halves": lambda s: s[32:] + s[:32],
    }  # fmt: skip
    for what, change in signatures.items():
        _add("bad-signature", f"signature {what}", partial(rewrite, "manifest.sig", change))
    for what, context in {"no context": b"", "a notice's context": SIGNING_CONTEXT}.items():
        _add("bad-signature", f"signed with {what}", partial(_signed_as, context))
    _add("bad-signature", "signature of a stranger", lambda shelf: rewrite(
        "manifest.sig",
        lambda _: STRANGER.sign(signed_bytes((shelf.newest / "manifest.json").read_bytes())),
        shelf,
    ))  # fmt: skip
    _add("bad-signature", "signature of last week", lambda shelf: rewrite(
        "manifest.sig", lambda _: (shelf.older / "manifest.sig").read_bytes(), shelf))  # fmt: skip
    _add("too-large", "signature of 65 bytes", partial(rewrite, "manifest.sig", lambda s: s + b"x"))
    _add("too-large", "manifest without end", partial(
        rewrite, "manifest.json", lambda _: bytes(2**24 + 1)))  # fmt: skip
    _add("mixed-up", "last week's manifest in this week's place", _last_weeks)
    for name in ("manifest.json", "manifest.sig", *READ):
        _add("missing", f"no {name}", lambda shelf, n=name: (shelf.newest / n).unlink())


def _sign_spelt(change: Callable[[bytes], bytes], shelf: Shelf) -> None:
    shelf.sign_bytes(change(canonical_json(shelf.manifest)))


def _sign_files(name: str, facts: object, shelf: Shelf) -> None:
    shelf.sign_manifest(files=shelf.manifest["files"] | {name: facts})


def _manifests() -> None:
    spelt = {
        "twice a key": lambda data: data.replace(b'{"attempt"', b'{"attempt":1,"attempt"', 1),
        "spaces": lambda data: data.replace(b",", b", "), "no line feed": lambda data: data[:-1],
        "NaN": lambda data: data.replace(b'"attempt":1', b'"attempt":NaN', 1),
        "a list": lambda _: b"[]\n", "nothing": lambda _: b"", "no JSON": lambda _: b"\xff",
        "another order": lambda data: json.dumps(dict(reversed(json.loads(data).items()))).encode(),
    }  # fmt: skip
    for what, change in spelt.items():
        _add("malformed", f"signed: {what}", partial(_sign_spelt, change))
    fields = {
        "schema_version": (1, 4, "3", None), "product": ("a/b", "..", "", 1),
        "locale": (None, "a b"),
        "epoch": (None, "x" * 65), "release_id": ("A" * 32, "abc", 1), "attempt": (0, True, "1"),
        "revision": (0, 1.0), "sequence": (0, -1, "2", True, 10**16), "created": ("today", None),
        "expires": ("2099-01-01", "2099-01-01T00:00:00", 1, None),
        "guarantees": (None, [], {"S": {}}), "files": (None, []), "parameters": (None, {}),
        "rows": (None, {"trends": "1"}, {"trends": -1}),
    }  # fmt: skip
    for field, values in fields.items():
        for value in values:
            _add(
                "malformed", f"signed: {field} {value!r}",
                lambda shelf, f=field, v=value: shelf.sign_manifest(**{f: v}),
            )  # fmt: skip
    good = {"bytes": 1, "sha256": "0" * 64}
    for name in ("../x.jsonl", "/etc/passwd", "a/b", "", ".", "x" * 300):
        _add("malformed", f"signed: a file {name[:20]!r}", partial(_sign_files, name, good))
    for facts in ({}, 1, good | {"x": 1}, good | {"bytes": -1}, good | {"sha256": "F" * 64}):
        _add(
            "malformed", f"signed: file facts {facts}", partial(_sign_files, "trends.jsonl", facts)
        )
    _add("too-large", "signed: a table of 129 MiB",
         partial(_sign_files, "trends.jsonl", good | {"bytes": 129 * 2**20}))  # fmt: skip
    _add("mixed-up", "signed: another product", lambda s: s.sign_manifest(product="mean"))
    _add("mixed-up", "signed: another locale", lambda s: s.sign_manifest(locale="de-DE"))
    _add("mixed-up", "signed: another revision", lambda s: s.sign_manifest(revision=2))
    _add("not-a-list", "signed: no list in it", lambda s: s.sign_manifest(files={}))


def _swap(one: str, other: str, shelf: Shelf) -> None:
    first, second = ((shelf.newest / name).read_bytes() for name in (one, other))
    write(f"{shelf.newest.name}/{one}", second, shelf)
    write(f"{shelf.newest.name}/{other}", first, shelf)


def _files() -> None:
    sizes = {
        "truncated": lambda data: data[:-1], "longer": lambda data: data + b"\n",
        "empty": lambda _: b"", "with zeros": lambda data: data + bytes(2**20),
    }  # fmt: skip
    for name in READ:
        for what, change in sizes.items():
            _add("wrong-size", f"{name} {what}", partial(rewrite, name, change))
        for place in (0, 17, -1):
            change = partial(flipped, place)
            _add("wrong-hash", f"{name} at {place}", partial(rewrite, name, change))
    _add("wrong-size", "swapped tables", partial(_swap, "head_list.jsonl", "trends.jsonl"))
    _add("wrong-hash", "rows in another order", partial(
        rewrite, "head_list.jsonl", lambda data: b"".join(reversed(data.splitlines(True)))
    ))  # fmt: skip


def _first_row(table: str, facts: dict, shelf: Shelf) -> None:
    first, *others = shelf.rows(table)
    kept = {name: fact for name, fact in (first | facts).items() if fact is not ...}
    shelf.sign_rows(table, [kept, *others])


def _tables() -> None:
    for facts in (
        {"extra": 1}, {"url": ...}, {"rank": 0}, {"rank": True}, {"rank": 1.0},
        {"probability": 1.5},
        {"probability": -0.1}, {"probability": "1"}, {"ci_low": None}, {"ci_high": float("nan")},
        {"query": 1}, {"query": "\ud800"}, {"url": None}, {"query": "x" * 2**20},
        {"probability": float("inf")},
    ):  # fmt: skip
        _add("malformed", f"signed: row {str(facts)[:40]}", partial(_first_row, "head_list", facts))
    _add("malformed", "signed: trends with urls", partial(_first_row, "trends", {"url": "x"}))
    usual = {"change": "rose", "query": "a", "probability": 0.5, "previous": None,
             "ratio_low": 1, "ratio_high": 2}  # fmt: skip
    for facts in ({"change": "new"}, {"ratio_high": -1}, {"query": None}, {"more": 1}):
        _add("malformed", f"signed: change {facts}",
             lambda s, f=facts: s.sign_rows("changes", [usual | f]))  # fmt: skip
    for what, data in {"blank line": b"\n", "a list": b"[]\n", "no JSON": b"x\n"}.items():
        _add("malformed", f"signed: {what} in a table",
             lambda s, d=data: s.sign_files({"trends.jsonl": d}))  # fmt: skip
    _add("malformed", "signed: fewer rows than stated",
         lambda s: s.sign_files({"trends.jsonl": b""}))  # fmt: skip
    _add("malformed", "signed: another normalisation", lambda s: s.sign_manifest(
        parameters=s.manifest["parameters"] | {"normalisation": "none"}))  # fmt: skip


def notice(shelf: Shelf, **facts: object) -> bytes:
    said = shelf.manifest
    about = ("product", "locale", "epoch", "release_id", "attempt", "sequence")
    usual = {"schema_version": 2, "at": "2026-11-19", "reason": "a test", "replaced_by": None}
    return canonical_json(usual | {name: said[name] for name in about} | facts)


def take_down(shelf: Shelf, data: bytes, signature: bytes | None = None, *, keep=True) -> None:
    """Put a notice into the newest release, and perhaps nothing else."""
    folder = shelf.newest
    if not keep:
        for path in folder.iterdir():
            path.unlink()
    (folder / "withdrawn.json").write_bytes(data)
    signed = shelf.sign(SIGNING_CONTEXT + data) if signature is None else signature
    (folder / "withdrawn.sig").write_bytes(signed)


def _notices() -> None:
    _add("withdrawn", "a notice beside it", lambda s: take_down(s, notice(s)))
    _add("withdrawn", "a notice alone", lambda s: take_down(s, notice(s), keep=False))
    _add("withdrawn", "a notice that names a replacement",
         lambda s: take_down(s, notice(s, replaced_by="0" * 32)))  # fmt: skip
    _add("withdrawn", "a notice of version 0.1.0",
         lambda s: take_down(s, notice(s, schema_version=1, sequence=99)))  # fmt: skip
    for facts in ({"sequence": 1}, {"release_id": "0" * 32}, {"attempt": 2}, {"product": "x"}):
        _add("mixed-up", f"a notice of {facts}", lambda s, f=facts: take_down(s, notice(s, **f)))
    _add("mixed-up", "another's notice alone",
         lambda s: take_down(s, notice(s, release_id="0" * 32), keep=False))  # fmt: skip
    _add("mixed-up", "a notice that is a list", lambda s: take_down(s, b"[]"))
    _add("withdrawn", "a notice beside a signed list",
         lambda s: (take_down(s, notice(s)), s.sign_bytes(b"[]\n")))  # fmt: skip
    _add("malformed", "a notice that is no JSON", lambda s: take_down(s, b"x"))
    _add("bad-signature", "a forged notice", lambda s: take_down(s, notice(s), bytes(64)))
    _add("bad-signature", "a notice signed as a manifest",
         lambda s: take_down(s, notice(s), s.sign(signed_bytes(notice(s)))))  # fmt: skip
    for name in ("withdrawn.json", "withdrawn.sig"):
        _add("bad-signature", f"half a notice, {name}",
             lambda s, n=name: write(f"{s.newest.name}/{n}", b"x", s))  # fmt: skip


def _become(name: str, make: Callable[..., object], shelf: Shelf) -> None:
    path = shelf.newest / name
    path.unlink()
    make(path)


def _link_away(shelf: Shelf) -> None:
    away = shelf.newest.rename(shelf.path.parent / shelf.newest.name)
    (shelf.path / away.name).symlink_to(away)


def _in_folders() -> None:
    for name in ("manifest.json", "manifest.sig", "trends.jsonl"):
        kinds = {
            "a link to itself elsewhere": lambda path: path.symlink_to("/etc/hosts"),
            "a dangling link": lambda path: path.symlink_to("nowhere"),
            "a folder": lambda path: path.mkdir(), "a pipe": os.mkfifo,
            "an endless device": lambda path: path.symlink_to("/dev/zero"),
        }  # fmt: skip
        for what, make in kinds.items():
            _add("not-a-file", f"{name} is {what}", partial(_become, name, make), FOLDERS)
    _add("not-a-file", "a release is a link", _link_away, FOLDERS)
    _add("not-a-file", "the pointer is a link", lambda s: (
        (s.path / "latest.json").rename(s.path / "l"), (s.path / "latest.json").symlink_to("l")
    ), FOLDERS)  # fmt: skip


for _fill in (
    _pointers, _signatures, _manifests, _files, _tables, _notices, _in_folders,
):  # fmt: skip
    _fill()
