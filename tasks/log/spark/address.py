"""Where the cluster is.

`HYBRIDDP_SPARK` names it: a master (`spark://host:7077`, `local[4]`; the default is `local[*]`, for
trying things out) or the address of a Spark Connect server (`sc://host:15002`). The latter may hold
a token, so no more of it is shown than its machine.
"""

import os
import re

from hybriddp.errors import HybridDPError

ADDRESS, DEFAULT_ADDRESS = "HYBRIDDP_SPARK", "local[*]"

_HOST = r"[A-Za-z0-9_.-]+|\[[0-9A-Fa-f:.]+\]"
_FORMS = (
    re.compile(r"local(\[(\*|[0-9]+)(,[0-9]+)?\])?"),
    re.compile(rf"spark://({_HOST}):[0-9]+(,({_HOST}):[0-9]+)*"),
    re.compile(r"yarn"),
    re.compile(rf"k8s://(https?://)?({_HOST})(:[0-9]+)?"),
    re.compile(rf"(?P<shown>sc://({_HOST})(:[0-9]+)?)(/(;[^/]*)?)?"),
)
_MOST_PORT = 65_535


class NoSpark(HybridDPError):
    """Spark cannot be used here; the message says what is missing. It says nothing of a log."""


def address() -> str:
    """Return the address of the cluster, for Spark alone; refuse one that Spark would not know."""
    given = os.environ.get(ADDRESS, "").strip() or DEFAULT_ADDRESS
    _require_known(given)
    return given


def shown_address() -> str:
    """Return the address as anybody may see it."""
    found = _require_known(address())
    return str(found.groupdict().get("shown") or found[0])


def is_remote() -> bool:
    """Whether the cluster is behind a Spark Connect server."""
    return address().startswith("sc://")


def _require_known(given: str) -> re.Match[str]:
    found = next(filter(None, (form.fullmatch(given) for form in _FORMS)), None)
    ports = re.findall(r":([0-9]+)", found.groupdict().get("shown") or found[0]) if found else []
    if found is None or any(int(port) > _MOST_PORT for port in ports):
        raise NoSpark(
            f"{ADDRESS} is no address of Spark; it must look like local[*], "
            "spark://host:7077, yarn, k8s://https://host:443 or sc://host:15002. (It is not shown, "
            "because it may hold a token.) Nobody was charged."
        )
    return found
