"""The door of a Prefect server: who may come in, and what they may ask for (ADR 0015).

A server's API runs flows, so whoever may call it acts as the curator. It listens on this machine
only, asks for a key, and takes no call from another website's page.
"""

import base64
import os
import secrets
import urllib.error
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

from tasks.release.refusals import BadInput
from tasks.store.home import Home, write_whole

_USER = "hybriddp"
_LOOPBACK = {"127.0.0.1", "localhost", "::1"}
_ANSWER_SECONDS = 30
CLIENT_KEY = "PREFECT_API_AUTH_STRING"
SERVER_KEY = "PREFECT_SERVER_API_AUTH_STRING"


def new_key() -> str:
    """Make a key of the form that Prefect takes: user:password."""
    return f"{_USER}:{secrets.token_urlsafe(32)}"


def key_file(home: Home) -> Path:
    """Return where the key of this home's server is."""
    return home.prefect / "api.auth"


def server_key(home: Home) -> str:
    """Return the key of this home's server, for the curator's eyes only; make it the first time."""
    path = key_file(home)
    if not path.exists():
        home.prefect.mkdir(mode=0o700, exist_ok=True)
        write_whole(path, new_key().encode() + b"\n", mode=0o600, keep_existing=True)
    return path.read_text(encoding="ascii").strip()


def guarded_settings(port: int, key: str) -> dict[str, str]:
    """Return the settings of a server that lets only the key's holders in, from its own pages."""
    address = f"http://127.0.0.1:{port}"
    return {
        SERVER_KEY: key,
        CLIENT_KEY: key,
        "PREFECT_API_URL": f"{address}/api",
        "PREFECT_SERVER_API_HOST": "127.0.0.1",
        "PREFECT_SERVER_API_PORT": str(port),
        "PREFECT_UI_API_URL": f"{address}/api",
        "PREFECT_SERVER_CORS_ALLOWED_ORIGINS": address,
        "PREFECT_SERVER_CSRF_PROTECTION_ENABLED": "true",
        "PREFECT_CLIENT_CSRF_SUPPORT_ENABLED": "true",
    }


def key_for(url: str, home: Home, environment: Mapping[str, str] = os.environ) -> str | None:
    """Return the key to a server that somebody named: what was given, else this home's own.

    The home's key goes to this machine only: another address is another server.
    """
    if given := environment.get(CLIENT_KEY):
        return given
    is_here = urlsplit(url).hostname in _LOOPBACK
    return server_key(home) if is_here and key_file(home).exists() else None


def require_entry(url: str, key: str | None) -> None:
    """Refuse to begin with a server that is not there, or that does not take the key."""
    request = urllib.request.Request(f"{url.rstrip('/')}/admin/version")
    if key is not None:
        token = base64.b64encode(key.encode()).decode()
        request.add_unredirected_header("Authorization", f"Basic {token}")
    try:
        with urllib.request.urlopen(request, timeout=_ANSWER_SECONDS):
            return
    except urllib.error.HTTPError as error:
        error.close()
        if error.code in (401, 403):
            raise BadInput(
                f"the Prefect server at {url} does not know this home's key. Give its own in "
                f"{CLIENT_KEY} (it is in private/prefect/{key_file(Home(Path())).name} of the home "
                "that serves), or unset PREFECT_API_URL."
            ) from None
    except (OSError, ValueError):
        raise BadInput(
            f"no Prefect server answers at {url}. Start it with `make serve`, or unset "
            "PREFECT_API_URL: the command then starts one for itself."
        ) from None
