"""A store like Amazon's S3 on this machine, whose tests see and disturb what readers ask of it."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tasks.log.raw import stores

KEYS = {"AWS_ACCESS_KEY_ID": "known-in-tests", "AWS_SECRET_ACCESS_KEY": "planted-store-secret"}
ENVIRONMENT = KEYS | {"AWS_DEFAULT_REGION": "eu-central-1", "AWS_EC2_METADATA_DISABLED": "true"}


def _nothing(method: str, path: str) -> None:
    """Let an answer go as it is."""


class Store:
    """A server of moto's, in this process, which knows one user; all servers share the buckets."""

    def __init__(self) -> None:
        from moto.moto_server import werkzeug_app
        from werkzeug.serving import make_server

        class Handler(werkzeug_app.MotoRequestHandler):
            def log_request(self, *said):
                """Say nothing."""

        self._app = werkzeug_app.DomainDispatcherApplication(werkzeug_app.create_backend_app)
        self._server = make_server(
            "127.0.0.1", 0, self._answer, threaded=True, request_handler=Handler
        )
        self._before: Callable[[str, str], None] = _nothing
        self.url = f"http://127.0.0.1:{self._server.port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def _answer(self, environ, start_response):
        self._before(environ["REQUEST_METHOD"], environ["PATH_INFO"])
        if KEYS["AWS_ACCESS_KEY_ID"] not in environ.get("HTTP_AUTHORIZATION", ""):
            start_response("403 Forbidden", [("Content-Type", "application/xml")])
            return [b"<Error><Code>InvalidAccessKeyId</Code><Message>secret</Message></Error>"]
        return self._app(environ, start_response)

    @contextmanager
    def disturbed(self, before: Callable[[str, str], None]) -> Iterator[None]:
        """Do something before each answer; a ConnectionError drops the connection."""
        self._before = before
        try:
            yield
        finally:
            self._before = _nothing

    def client(self):
        """Return somebody who may write."""
        from pyarrow.fs import S3FileSystem

        return S3FileSystem(
            access_key=KEYS["AWS_ACCESS_KEY_ID"], secret_key=KEYS["AWS_SECRET_ACCESS_KEY"],
            endpoint_override=self.url, region="eu-central-1", allow_bucket_creation=True,
            background_writes=False,
        )  # fmt: skip

    def write(self, key: str, data: bytes) -> str:
        """Write an object, and return its address; its bucket is made."""
        client = self.client()
        client.create_dir(key.partition("/")[0])
        with client.open_output_stream(key, compression=None) as stream:
            stream.write(data)
        return f"s3://{key}"

    def copy(self, path: Path, key: str) -> str:
        """Write a file, or those of a folder, and return the address."""
        for file in path.iterdir() if path.is_dir() else []:
            self.write(f"{key}/{file.name}", file.read_bytes())
        return f"s3://{key}" if path.is_dir() else self.write(key, path.read_bytes())

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@contextmanager
def a_store() -> Iterator[Store]:
    """Start a store, and let this process know of it."""
    pytest.importorskip("moto", reason="no store: moto is not installed")
    store = Store()
    with pytest.MonkeyPatch.context() as patched:
        for name, value in (ENVIRONMENT | {"AWS_ENDPOINT_URL": store.url}).items():
            patched.setenv(name, value)
        forget_clients()
        yield store
    forget_clients()
    store.close()


def forget_clients() -> None:
    """Let this process look at its environment again."""
    stores._store.cache_clear()


def workers_see(spark, store: Store, **others: str) -> None:
    """Give new workers an environment, as whoever starts them on a cluster does."""
    said = ENVIRONMENT | {"AWS_ENDPOINT_URL": store.url} | others
    spark.sparkContext.environment.update(said)
