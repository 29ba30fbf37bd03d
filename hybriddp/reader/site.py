"""Files of an address, from a server that may be slow, endless, or send readers elsewhere."""

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from queue import Empty, SimpleQueue
from socket import SHUT_RDWR
from typing import Any
from urllib.error import HTTPError
from urllib.parse import quote, urlsplit
from urllib.request import (
    HTTPHandler,
    HTTPRedirectHandler,
    HTTPSHandler,
    Request,
    build_opener,
)

from hybriddp.errors import require
from hybriddp.reader.refusals import Reason, ReleaseRefused, refused

# Some stores say 403 of what is not there, so that nobody can list them.
_NOT_THERE = (403, 404, 410)
_CHUNK_BYTES = 2**16
_MOST_SECONDS = 86_400


class Site:
    """A folder of a web server; `timeout` is for a whole file, however it trickles in."""

    def __init__(self, address: str, timeout: float) -> None:
        require(
            _is_address(address),
            "place must be a folder, or an address such as https://example.org/search/all",
            repr(address),
            "give the address of the folder that holds latest.json or manifest.json",
        )
        require(
            0 < timeout <= _MOST_SECONDS,
            f"timeout must be > 0 and at most {_MOST_SECONDS} seconds",
            timeout,
            "30 is usual",
        )
        self.address = address.rstrip("/")
        self.name = self.address.rpartition("/")[2]
        self._timeout = timeout

    def inner(self, name: str) -> "Site":
        """Return a folder of this one."""
        return Site(f"{self.address}/{quote(name)}", self._timeout)

    def read(self, name: str, most: int) -> bytes:
        """Return a file's bytes; refuse what is missing, or has more bytes than `most`."""
        address = f"{self.address}/{quote(name)}"
        return _in_time(lambda call: _get(address, name, most, call), self._timeout, address)


def _is_address(text: str) -> bool:
    """Whether this is the address of a folder, without a password that a message would show."""
    try:
        parts = urlsplit(text)
    except ValueError:
        return False
    is_more = bool(parts.query or parts.fragment or "@" in parts.netloc)
    return parts.scheme in ("http", "https") and bool(parts.hostname) and not is_more


def _in_time(work: Callable[["_Call"], bytes], seconds: float, address: str) -> bytes:
    """Do it in a thread that nobody waits for longer: a name's lookup has no time-out of its own.

    The thread ends soon after: its call is hung up, and it looks at the clock between any two
    chunks.
    """
    done: SimpleQueue[bytes | BaseException] = SimpleQueue()
    call = _Call(time.monotonic() + seconds)

    def run() -> None:
        try:
            done.put(work(call))
        except BaseException as error:
            done.put(error)

    threading.Thread(target=run, daemon=True).start()
    try:
        found = done.get(timeout=seconds)
    except Empty:
        call.hang_up()
        raise _too_slow(address) from None
    if isinstance(found, BaseException):
        raise found
    return found


class _Call(HTTPHandler, HTTPSHandler):
    """A request that can be given up while its headers still trickle in, and follows nobody."""

    def __init__(self, until: float) -> None:
        super().__init__()
        self.until = until
        self._connections: list[HTTPConnection] = []

    @property
    def seconds(self) -> float:
        """How long it may still take."""
        return max(self.until - time.monotonic(), 0.001)

    def http_open(self, req: Request) -> HTTPResponse:
        return self.do_open(self._made(HTTPConnection), req)

    def https_open(self, req: Request) -> HTTPResponse:
        return self.do_open(self._made(HTTPSConnection), req)

    def hang_up(self) -> None:
        """End whatever waits for this server."""
        for connection in self._connections:
            with suppress(OSError, AttributeError):  # it ended by itself
                connection.sock.shutdown(SHUT_RDWR)

    def _made(self, kind: type[HTTPConnection]) -> Any:
        def connection(*where: Any, **settings: Any) -> HTTPConnection:
            self._connections.append(kind(*where, **settings))
            return self._connections[-1]

        return connection


class _NoRedirect(HTTPRedirectHandler):
    """Static files are where they are; whoever leads elsewhere shows a reader to strangers."""

    def redirect_request(self, *_: Any) -> None:
        return None


def _get(address: str, name: str, most: int, call: _Call) -> bytes:
    request = Request(address, headers={"User-Agent": "hybriddp.reader"})
    try:
        with build_opener(call, _NoRedirect).open(request, timeout=call.seconds) as answer:
            return _body(answer, address, name, most, call.until)
    except HTTPError as error:
        error.close()
        raise _answered(address, name, error) from None
    except TimeoutError:
        raise _too_slow(address) from None
    except (OSError, HTTPException, ValueError) as error:
        if isinstance(getattr(error, "reason", None), TimeoutError):
            raise _too_slow(address) from None
        raise _broken(address, type(error).__name__) from None


def _body(answer: Any, address: str, name: str, most: int, until: float) -> bytes:
    """Read what was sent, and no further than to the first byte too many."""
    stated = answer.headers.get("Content-Length", "")
    n_stated = int(stated) if stated.isascii() and stated.isdigit() and len(stated) < 19 else None
    found = bytearray()
    while n_stated is None or n_stated <= most:
        if time.monotonic() > until:
            raise _too_slow(address)
        chunk = answer.read1(min(_CHUNK_BYTES, most + 1 - len(found)))
        found += chunk
        if len(found) > most:
            break
        if not chunk:
            if n_stated is not None and len(found) < n_stated:
                raise _broken(address, "it breaks off")
            return bytes(found)
    raise refused(Reason.TOO_LARGE, f"{address} is larger than the {most} bytes allowed.", name)


def _answered(address: str, name: str, error: HTTPError) -> ReleaseRefused:
    if error.code in _NOT_THERE:
        return refused(Reason.MISSING, f"{name} is missing: {address}.", name)
    if error.code // 100 == 3:
        target = str(error.headers.get("Location"))[:200]
        return refused(
            Reason.REDIRECTED,
            f"{address} leads to {target!r}; if you trust that place, give its address.",
        )
    return _broken(address, f"it answers {error.code}")


def _too_slow(address: str) -> ReleaseRefused:
    return refused(
        Reason.TIMED_OUT, f"{address} did not come in time; try again, or give a longer timeout."
    )


def _broken(address: str, why: str) -> ReleaseRefused:
    return refused(Reason.UNREACHABLE, f"{address} cannot be read ({why}); try again later.")
