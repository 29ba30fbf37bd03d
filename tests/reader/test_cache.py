"""What a reader keeps: it works offline, is never led back, and survives crashes and company."""

import os
import shutil
import signal
import subprocess
import sys
import threading
from datetime import timedelta
from http.server import SimpleHTTPRequestHandler
from pathlib import Path

import pytest

from hybriddp.reader import NotCurrent, Reason, ReleaseRefused, cache, open_release
from tests.patience import PATIENCE
from tests.reader.servers import serving
from tests.reader.test_tampered import require_refused
from tests.reader.variants import notice, take_down
from tests.repository import ROOT


@pytest.fixture
def kept(root) -> Path:
    return root / "cache"


def files_of(kept: Path) -> dict[str, bytes]:
    """What a cache holds, by its path below what names key and place."""
    return {
        path.relative_to(kept).as_posix().partition("/files/")[2]: path.read_bytes()
        for path in kept.glob("*/*/files/**/*")
        if path.is_file()
    }


def stop(server) -> None:
    """Let every answer fail, as if there were no network."""
    server.answers["*"] = lambda handler: handler.send_error(503)
    server.asked.clear()


def test_offline_the_last_release_is_checked_again_and_used_until_it_expires(shelf, server, kept):
    online = open_release(server.address, shelf.key, cache=kept)
    stop(server)
    assert open_release(server.address, shelf.key, cache=kept) == online
    assert open_release(f"{server.address}/", shelf.key, cache=kept) == online
    expires = online.manifest.expires
    last = expires - timedelta(seconds=1)
    assert open_release(server.address, shelf.key, cache=kept, now=last) == online
    require_refused("expired", server.address, shelf.key, cache=kept, now=expires)
    require_refused("unreachable", server.address, shelf.key)
    require_refused("unreachable", server.address, shelf.key, cache=kept / "another")


def test_offline_the_one_release_that_was_named_is_there_too(shelf, server, kept):
    address = f"{server.address}/{shelf.newest.name}"
    online = open_release(address, shelf.key, cache=kept)
    stop(server)
    assert open_release(address, shelf.key, cache=kept) == online


def test_what_is_kept_is_not_asked_for_again(shelf, server, kept):
    open_release(server.address, shelf.key, cache=kept)
    server.asked.clear()
    open_release(server.address, shelf.key, cache=kept)
    names = [path.rpartition("/")[2] for path in server.asked]
    assert names == ["latest.json", "withdrawn.json", "withdrawn.sig"]


def test_a_cache_has_the_publishers_bytes_and_nothing_of_what_is_typed(shelf, server, kept):
    open_release(server.address, shelf.key, cache=kept).lookup("weather secret")
    for name, data in files_of(kept).items():
        assert (shelf.path / name).read_bytes() == data
    assert len(files_of(kept)) == 7
    assert not any("secret" in str(path) for path in kept.rglob("*"))


@pytest.mark.parametrize("name", ["manifest.json", "manifest.sig", "trends.jsonl"])
@pytest.mark.parametrize("data", [b"", b"x", None])
def test_what_was_spoilt_in_a_cache_is_fetched_again_and_never_used(
    shelf, server, kept, name, data
):
    online = open_release(server.address, shelf.key, cache=kept)
    (path,) = kept.glob(f"**/{name}")
    path.unlink() if data is None else path.write_bytes(data)
    assert open_release(server.address, shelf.key, cache=kept) == online
    path.unlink() if data is None else path.write_bytes(data)
    stop(server)
    require_refused("unreachable", server.address, shelf.key, cache=kept)


def test_nobody_is_led_back_to_an_older_release_by_a_folder_an_address_or_another_mirror(
    shelf, server, root, kept
):
    open_release(server.address, shelf.key, cache=kept)
    shelf.lead_to(shelf.older)
    error = require_refused("rolled-back", server.address, shelf.key, cache=kept)
    assert isinstance(error, NotCurrent)
    assert "sequence 1, below 2" in str(error)
    mirror = shelf.copied(root / "mirror")
    require_refused("rolled-back", mirror.path, shelf.key, cache=kept)
    with serving(mirror.path) as other:
        require_refused("rolled-back", other.address, shelf.key, cache=kept)
    # Whoever remembers nothing has only the expiry, or a number of his own.
    assert open_release(server.address, shelf.key).manifest.sequence == 1
    require_refused("rolled-back", server.address, shelf.key, min_sequence=2)


@pytest.mark.parametrize("is_known", [True, False])
def test_nor_by_an_older_release_in_the_place_of_a_pointer_that_was_taken_away(
    shelf, server, root, kept, is_known
):
    open_release(server.address if is_known else shelf.path, shelf.key, cache=kept)
    for path in shelf.older.iterdir():
        shutil.copy(path, shelf.path / path.name)
    (shelf.path / "latest.json").unlink()
    assert open_release(server.address, shelf.key).manifest.sequence == 1
    require_refused("rolled-back", server.address, shelf.key, cache=kept)
    assert "manifest.json" not in files_of(kept)
    require_refused("rolled-back", shelf.path, shelf.key, cache=kept)


def test_a_refused_shelf_is_not_what_is_found_offline(shelf, server, kept):
    online = open_release(server.address, shelf.key, cache=kept)
    was = shelf.pointer
    shelf.lead_to(shelf.older)
    require_refused("rolled-back", server.address, shelf.key, cache=kept)
    shelf.point(**(was | {"release": "0" * 32}))
    require_refused("missing", server.address, shelf.key, cache=kept)
    stop(server)
    assert open_release(server.address, shelf.key, cache=kept) == online


def test_a_folder_is_remembered_too_and_nothing_of_it_is_kept(shelf, kept):
    open_release(shelf.path, shelf.key, cache=kept)
    assert files_of(kept) == {}
    shelf.lead_to(shelf.older)
    require_refused("rolled-back", shelf.path, shelf.key, cache=kept)


def test_whoever_names_an_older_release_gets_it_and_it_is_not_remembered(shelf, kept):
    assert open_release(shelf.newest, shelf.key, cache=kept).manifest.sequence == 2
    shelf.lead_to(shelf.older)
    assert open_release(shelf.path, shelf.key, cache=kept).manifest.sequence == 1


def test_another_product_in_a_known_place_is_refused(shelf, kept):
    open_release(shelf.path, shelf.key, cache=kept)
    shelf.sign_manifest(product="mean", sequence=9)
    require_refused("mixed-up", shelf.path, shelf.key, cache=kept)
    assert len(open_release(shelf.path, shelf.key, cache=kept, of="mean/all")) > 0


def test_the_newer_release_takes_the_place_of_the_older_in_a_cache(shelf, server, kept):
    was = shelf.pointer
    older = shelf.older.name
    shelf.lead_to(shelf.older)
    open_release(server.address, shelf.key, cache=kept)
    assert f"{older}/trends.jsonl" in files_of(kept)
    shelf.point(**was)
    open_release(server.address, shelf.key, cache=kept)
    assert not any(name.startswith(older) for name in files_of(kept))


def test_of_a_withdrawn_release_nothing_but_the_notice_is_kept_and_it_stays_withdrawn(
    shelf, server, kept
):
    open_release(server.address, shelf.key, cache=kept)
    take_down(shelf, notice(shelf), keep=False)
    require_refused("withdrawn", server.address, shelf.key, cache=kept)
    names = {name.rpartition("/")[2] for name in files_of(kept)}
    assert names == {"latest.json", "withdrawn.json", "withdrawn.sig"}
    stop(server)
    require_refused("withdrawn", server.address, shelf.key, cache=kept)


@pytest.mark.parametrize("keep", [True, False])
def test_a_forged_notice_takes_nothing_out_of_a_cache(shelf, server, kept, keep):
    online = open_release(server.address, shelf.key, cache=kept)
    take_down(shelf, notice(shelf), bytes(64), keep=keep)
    require_refused("bad-signature", server.address, shelf.key, cache=kept)
    take_down(shelf, b'{"release_id":"x"}', keep=False)
    require_refused("mixed-up", server.address, shelf.key, cache=kept)
    stop(server)
    assert open_release(server.address, shelf.key, cache=kept) == online


def test_a_withdrawal_is_told_where_nothing_can_be_kept(shelf, server, root):
    take_down(shelf, notice(shelf))
    (root / "file").write_bytes(b"")
    require_refused("withdrawn", server.address, shelf.key, cache=root / "file")


def test_whoever_cannot_remember_says_so(shelf, server, root):
    (root / "file").write_bytes(b"")
    for place in (shelf.path, server.address):
        require_refused("no-cache", place, shelf.key, cache=root / "file")


def test_keys_do_not_share_what_was_seen(shelf, kept):
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    open_release(shelf.path, shelf.key, cache=kept)
    stranger = Ed25519PrivateKey.generate().public_key().public_bytes_raw()
    require_refused("bad-signature", shelf.path, stranger, cache=kept)
    assert cache.Memory(kept, stranger, str(shelf.path)).highest("search", "all") == 0


def test_an_odd_file_among_sequences_counts_for_nothing(shelf, kept):
    open_release(shelf.path, shelf.key, cache=kept)
    (seen,) = kept.glob("*/*/seen/search/all")
    for name in (".x", "abc", "-9", "2.5"):
        (seen / name).touch()
    assert open_release(shelf.path, shelf.key, cache=kept).manifest.sequence == 2


def test_a_slower_reader_makes_no_memory_smaller(shelf, kept):
    one, other = (cache.Memory(kept, shelf.key, place) for place in ("a", "b"))
    one.remember("search", "all", 9)
    for slower in (one, other):
        slower.remember("search", "all", 8)
        assert one.highest("search", "all") == other.highest("search", "all") == 9


def test_whoever_is_overtaken_while_he_reads_leaves_no_older_shelf_behind(shelf, server, kept):
    newer = cache.Memory(kept, shelf.key, "another mirror")

    def meanwhile(handler):
        newer.remember("search", "all", 9)
        SimpleHTTPRequestHandler.do_GET(handler)

    server.answers["trends.jsonl"] = meanwhile
    require_refused("rolled-back", server.address, shelf.key, cache=kept)
    assert "latest.json" not in files_of(kept)


def test_what_is_remembered_already_is_not_written_again(shelf, kept):
    open_release(shelf.path, shelf.key, cache=kept)
    (seen,) = kept.glob("*/*/seen/search/all/2")
    os.utime(seen, (1, 1))
    open_release(shelf.path, shelf.key, cache=kept)
    assert seen.stat().st_mtime == 1


def test_many_readers_at_once_share_a_cache(shelf, server, kept):
    """Some are led to the older release still: nobody fails, and the newer one stays."""
    newest, older = shelf.pointer, shelf.older
    failed: list[BaseException] = []
    opened: list[int] = []

    def read() -> None:
        try:
            for _ in range(4):
                release = open_release(server.address, shelf.key, cache=kept, timeout=PATIENCE)
                opened.append(release.manifest.sequence)
        except BaseException as error:
            failed.append(error)

    shelf.lead_to(older)
    threads = [threading.Thread(target=read) for _ in range(6)]
    for number, thread in enumerate(threads):
        thread.start()
        if number == 2:
            beside = shelf.path / "new"
            beside.write_bytes(_pointer(newest))
            os.replace(beside, shelf.path / "latest.json")
    for thread in threads:
        thread.join()
    refusals = [error for error in failed if isinstance(error, ReleaseRefused)]
    assert refusals == failed
    assert {error.reason for error in refusals} <= {Reason.ROLLED_BACK}
    assert set(opened) <= {1, 2}
    assert open_release(server.address, shelf.key, cache=kept).manifest.sequence == 2
    stop(server)
    assert open_release(server.address, shelf.key, cache=kept).manifest.sequence == 2


def _pointer(facts) -> bytes:
    from hybriddp.device.canonical import canonical_json

    return canonical_json(facts)


KILLED = """
import os, sys, signal
from hybriddp.reader import cache, open_release
left = [int(sys.argv[4])]

def dies(step):
    def other(*arguments, **named):
        left[0] -= 1
        if left[0] < 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return step(*arguments, **named)
    return other

for name in ("fsync", "replace", "unlink"):
    setattr(os, name, dies(getattr(os, name)))
cache.Path.touch, cache.Path.mkdir = dies(cache.Path.touch), dies(cache.Path.mkdir)
cache.Path.unlink, cache.shutil.rmtree = dies(cache.Path.unlink), dies(cache.shutil.rmtree)
print(open_release(sys.argv[1], sys.argv[2], cache=sys.argv[3]).manifest.sequence)
"""


def _killed_after(steps: int, address: str, key: bytes, kept: Path) -> bool:
    """Open a release in a process that dies at a step of its writing; whether it did."""
    done = subprocess.run(
        [sys.executable, "-c", KILLED, address, key.hex(), str(kept), str(steps)],
        cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE, check=False,
    )  # fmt: skip
    assert done.returncode in (0, -signal.SIGKILL), done.stderr
    return done.returncode != 0


@pytest.mark.kills
@pytest.mark.parametrize("part", range(4))
def test_whoever_is_killed_while_writing_leaves_the_old_or_the_new_offline(
    shelf, server, root, part
):
    """Every fourth step of writing, in a reader that had the older release and gets the newer."""
    newest = shelf.pointer
    shelf.lead_to(shelf.older)
    open_release(server.address, shelf.key, cache=root / "before")
    shelf.point(**newest)
    steps = part
    while True:
        kept = shutil.copytree(root / "before", root / f"cache-{steps}")
        server.answers.clear()
        is_dead = _killed_after(steps, server.address, shelf.key, kept)
        stop(server)
        found = open_release(server.address, shelf.key, cache=kept)  # not rolled back, nor damaged
        assert found.manifest.sequence in ((1, 2) if is_dead else (2,))
        server.answers.clear()
        assert open_release(server.address, shelf.key, cache=kept).manifest.sequence == 2
        assert not [path for path in kept.rglob("*.partial") if path.parent.name == "files"]
        if not is_dead:
            break
        steps += 4
    assert steps > 20
