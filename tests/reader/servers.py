"""Servers on loopback: an honest one, and answers that no honest one gives."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler, SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

Answer = Callable[[BaseHTTPRequestHandler], None]


class Quiet(SimpleHTTPRequestHandler):
    """Files of a folder, and a list of what was asked for."""

    def do_GET(self):
        """Remember what is asked for, and answer otherwise where a test says so."""
        self.server.asked.append(self.path)
        name = self.path.rpartition("/")[2]
        answer = self.server.answers.get(name) or self.server.answers.get("*")
        if answer is None:
            super().do_GET()
        else:
            answer(self)

    def log_message(self, *_):
        """Say nothing."""


class Server(ThreadingHTTPServer):
    """A server whose answers a test may change."""

    daemon_threads = True
    block_on_close = False

    def __init__(self, folder: Path) -> None:
        self.asked: list[str] = []
        self.answers: dict[str, Answer] = {}
        super().__init__(("127.0.0.1", 0), partial(Quiet, directory=str(folder)))

    def handle_error(self, *_):
        """A reader that hangs up is no error."""

    @property
    def address(self) -> str:
        """Where the folder is."""
        return f"http://127.0.0.1:{self.server_port}"


@contextmanager
def serving(folder: Path) -> Iterator[Server]:
    """Serve a folder while a test runs."""
    with Server(folder) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
