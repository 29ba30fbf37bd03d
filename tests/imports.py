"""What a command imports, which is most of the time that it takes: by names, not by a clock."""

import subprocess
import sys
from pathlib import Path

from tasks.store.home import Home
from tests.patience import PATIENCE
from tests.repository import ROOT

# What each command may not import: it would be most of the time that it takes.
HEAVY = {"prefect", "great_expectations", "matplotlib", "pandas", "scipy.stats", "dp_accounting"}
LIGHT = HEAVY | {"numpy", "pyarrow", "polars", "duckdb", "opendp", "scipy"}
IMPORTED = """
import atexit, sys
heavy = {heavy!r}
atexit.register(lambda: print(sorted(m for m in heavy if sys.modules.get(m)), file=sys.stderr))
sys.argv = ["hybriddp", *{arguments!r}]
from flows.__main__ import main
main()
"""


def imported_by(*arguments: object, heavy: set[str]) -> str:
    code = IMPORTED.format(heavy=sorted(heavy), arguments=[str(one) for one in arguments])
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stderr.strip().splitlines()[-1]


# What nobody needs who checks a release. Parts of numpy as its Fortran compiler's are imported by
# whoever imports all of scipy.special.
UNREAD = HEAVY | {
    "duckdb", "numpy.f2py", "opendp", "polars", "pyarrow.compute", "pyarrow.dataset",
    "scipy.optimize", "tasks.products.request",
}  # fmt: skip


def require_light_verification(
    home: Home, folder: Path, needed: frozenset[str] = frozenset()
) -> None:
    """Verify as the curator does, who also recomputes, and as a consumer does, with a key alone."""
    assert imported_by("verify", folder, "--home", home.root, heavy=UNREAD - needed) == "[]"
    key = home.public / "signing.pub"
    nowhere = home.root / "nowhere"
    assert imported_by("verify", folder, "--key", key, "--home", nowhere, heavy=UNREAD) == "[]"
