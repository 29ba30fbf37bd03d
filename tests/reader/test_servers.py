"""Servers that lie, hang, or send readers elsewhere: nobody waits or reads without a bound."""

import socket
import threading
import time

import pytest

from hybriddp.errors import InvalidParameter
from hybriddp.reader import REASONS, NotAvailable, open_release
from hybriddp.reader.signed import MAX_POINTER_BYTES
from tests.patience import PATIENCE
from tests.reader.servers import serving, write_certificate
from tests.reader.test_tampered import require_refused

PART = 2**16


def sends(*parts: bytes, status: int = 200, wait: threading.Event | None = None, **headers: str):
    """An answer in parts; at its end it waits until a test is over."""

    def answer(handler):
        handler.send_response(status)
        for name, value in headers.items():
            handler.send_header(name.replace("_", "-"), value)
        handler.end_headers()
        for part in parts:
            handler.wfile.write(part)
        if wait is not None:
            handler.wfile.flush()
            wait.wait(PATIENCE)

    return answer


def endless(sent: list[int], **headers: str):
    """An answer that never ends, and how much of it was sent."""

    def answer(handler):
        sends(**headers)(handler)
        while True:
            handler.wfile.write(bytes(PART))
            sent[0] += PART

    return answer


@pytest.fixture
def over():
    event = threading.Event()
    yield event
    event.set()


@pytest.mark.parametrize("name", ["latest.json", "withdrawn.json", "manifest.sig"])
def test_what_never_ends_is_read_to_its_bound_and_no_further(shelf, server, name):
    sent = [0]
    server.answers[name] = endless(sent)
    require_refused("too-large", server.address, shelf.key)
    # What the system buffers on both sides comes on top.
    assert sent[0] < MAX_POINTER_BYTES + 2**24


def test_a_table_that_never_ends_is_not_the_signed_one(shelf, server):
    server.answers["trends.jsonl"] = endless([0])
    require_refused("wrong-size", server.address, shelf.key)


def test_what_says_that_it_is_too_large_is_not_read_at_all(shelf, server, over):
    server.answers["latest.json"] = sends(wait=over, Content_Length=str(2**40))
    require_refused("too-large", server.address, shelf.key)


@pytest.mark.parametrize("stated", ["-1", "9" * 30, "\xb2", "many", ""])
def test_a_length_that_is_no_number_counts_for_nothing(shelf, server, stated):
    data = (shelf.path / "latest.json").read_bytes()
    server.answers["latest.json"] = sends(data, Content_Length=stated)
    assert len(open_release(server.address, shelf.key)) > 0


def test_whoever_does_not_go_on_is_not_waited_for(shelf, server, over):
    size = (shelf.newest / "trends.jsonl").stat().st_size
    server.answers["trends.jsonl"] = sends(b"{", wait=over, Content_Length=str(size))
    started = time.monotonic()
    require_refused("timed-out", server.address, shelf.key, timeout=0.5)
    assert time.monotonic() - started < PATIENCE / 10


def test_whoever_trickles_is_not_waited_for_either(shelf, server, over):
    def trickle(handler):
        sends()(handler)
        while not over.wait(0.02):
            handler.wfile.write(b" ")

    server.answers["latest.json"] = trickle
    require_refused("timed-out", server.address, shelf.key, timeout=0.5)


def test_nor_whoever_takes_calls_and_says_nothing_or_trickles_headers(shelf, over):
    hung_up = []
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"http://127.0.0.1:{silent.getsockname()[1]}"
        require_refused("timed-out", address, shelf.key, timeout=0.3)

        def headers():
            caller, _ = silent.accept()  # the one that was given up
            caller.close()
            caller, _ = silent.accept()
            with caller:
                caller.sendall(b"HTTP/1.1 200 OK\r\n")
                while not over.wait(0.02):
                    try:
                        caller.sendall(b"a")  # one header without end
                    except OSError:
                        hung_up.append(True)
                        return

        thread = threading.Thread(target=headers)
        thread.start()
        require_refused("timed-out", address, shelf.key, timeout=0.5)
        thread.join(PATIENCE / 10)
    assert hung_up, "or a thread would read for as long as the server likes"


def test_nobody_at_all_is_unreachable(shelf):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    require_refused("unreachable", f"http://127.0.0.1:{port}", shelf.key)


@pytest.mark.parametrize("status", [400, 401, 429, 500, 503])
def test_a_server_that_fails_is_unreachable_and_nothing_is_missing(shelf, server, status):
    server.answers["trends.jsonl"] = sends(status=status)
    require_refused("unreachable", server.address, shelf.key)


@pytest.mark.parametrize("status", [403, 404, 410])
def test_stores_have_several_words_for_what_is_not_there(shelf, server, status):
    server.answers["withdrawn.json"] = server.answers["withdrawn.sig"] = sends(status=status)
    assert len(open_release(server.address, shelf.key)) > 0
    server.answers["trends.jsonl"] = sends(status=status)
    require_refused("missing", server.address, shelf.key)


def test_what_breaks_off_is_unreachable_and_not_spoilt(shelf, server):
    data = (shelf.newest / "manifest.json").read_bytes()
    server.answers["manifest.json"] = sends(data[:9], Content_Length=str(len(data)))
    require_refused("unreachable", server.address, shelf.key)


def test_what_is_no_answer_is_unreachable(shelf, server):
    server.answers["latest.json"] = lambda handler: handler.wfile.write(b"\x00garbage\r\n\r\n")
    require_refused("unreachable", server.address, shelf.key)


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_nobody_follows_a_server_elsewhere(shelf, server, root, status):
    with serving(shelf.path) as other:
        for target in (
            f"{other.address}/latest.json",
            "file:///etc/passwd",
            "//x/",
            "/latest.json",
        ):
            server.answers["latest.json"] = sends(status=status, Location=target)
            require_refused("redirected", server.address, shelf.key)
        assert other.asked == []


def test_a_server_is_who_its_certificate_says_or_unreachable(shelf, root, monkeypatch):
    write_certificate(root / "own.pem")
    with serving(shelf.path, root / "own.pem") as server:
        address = server.address.replace("http:", "https:")
        require_refused("unreachable", address, shelf.key)
        monkeypatch.setenv("SSL_CERT_FILE", str(root / "own.pem"))
        assert open_release(address, shelf.key) == open_release(shelf.path, shelf.key)
        require_refused("unreachable", address.replace("127.0.0.1", "localhost"), shelf.key)


@pytest.mark.parametrize(
    "address",
    ["ftp://localhost/x", "file:///etc", "http://", "http://[::1", "http://u:secret@h/x", "x://h",
     "http://h/x?y=z", "http://h/#x"],
)  # fmt: skip
def test_other_addresses_are_none(shelf, address):
    with pytest.raises(InvalidParameter, match="place must be a folder, or an address") as caught:
        open_release(address, shelf.key)
    assert "give the address of the folder" in str(caught.value)


@pytest.mark.parametrize("seconds", [0, -1, float("nan"), float("inf")])
def test_a_timeout_is_a_number_of_seconds(shelf, server, seconds):
    with pytest.raises(InvalidParameter, match="timeout must be > 0"):
        open_release(server.address, shelf.key, timeout=seconds)


def test_only_what_is_needed_is_asked_for_and_nothing_of_what_is_typed(shelf, server):
    release = open_release(server.address, shelf.key)
    before = list(server.asked)
    release.lookup("wea")
    assert server.asked == before
    names = {path.rpartition("/")[2] for path in before}
    assert names == {
        "latest.json", "manifest.json", "manifest.sig", "withdrawn.json", "withdrawn.sig",
        "head_list.jsonl", "trends.jsonl", "changes.jsonl", "label.md",
    }  # fmt: skip
    assert len(before) == len(set(before))


def test_what_cannot_be_had_is_told_apart_from_what_must_not_be_used():
    kinds = {reason: kind for reason, (kind, _) in REASONS.items()}
    assert {reason for reason, kind in kinds.items() if kind is NotAvailable} == {
        "missing", "no-cache", "redirected", "timed-out", "unreachable",
    }  # fmt: skip
