"""Servers on loopback: an honest one, and answers that no honest one gives."""

import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from http.server import BaseHTTPRequestHandler, SimpleHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import IPv4Address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

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


def write_certificate(path: Path) -> None:
    """Write a certificate of loopback that only its own key signed, with that key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "loopback")])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(
            x509.SubjectAlternativeName([x509.IPAddress(IPv4Address("127.0.0.1"))]), critical=False
        )
        .sign(key, hashes.SHA256())
    )
    path.write_bytes(
        key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        + certificate.public_bytes(Encoding.PEM)
    )


@contextmanager
def serving(folder: Path, certificate: Path | None = None) -> Iterator[Server]:
    """Serve a folder while a test runs, over TLS if there is a certificate."""
    with Server(folder) as server:
        if certificate is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate)
            server.socket = context.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
