"""Everything that a release needs is checked before anybody pays, and not found missing later.

What only the log itself can tell comes later, still before the charge: the gate and the forecast.
"""

import os
import shutil
import uuid
from collections.abc import Sequence
from contextvars import ContextVar
from pathlib import Path

from tasks.budget.one_human import require_one_budget
from tasks.gates.blocklist import read_blocklist
from tasks.gates.suites import read_suite
from tasks.ledger.rules import Kind
from tasks.log.raw.files import BadInput
from tasks.log.raw.opening import LogFile, size_of
from tasks.log.warehouse import SPARK
from tasks.release.run import LogRun, log_source, roster_source
from tasks.store import memory
from tasks.store.home import Home
from tasks.store.keys import Keyring
from tasks.verify.signatures import KeyProblem, is_signed, read_public_key

# Bytes that a release's tables take for each byte of its log. Measured: 1.7 (head list) and 4.3
# (histograms) for text, three times that for gzip and Parquet, which are three times smaller.
TEXT_FACTOR, COMPRESSED_FACTOR = 5, 15
# What measurements, the ledger and the public files may take; they are small.
_SPARE_BYTES = 50_000_000
_PROBE = b"hybriddp can sign\n"


# Whether somebody could answer if a release asks for a sign-off.
can_ask: ContextVar[bool] = ContextVar("can_ask", default=True)


def check_inputs(run: LogRun) -> None:
    """See that files, keys, folders, space and suites are there; raise BadInput or KeyProblem.

    What the ledger will refuse whatever the log holds is refused here, too.
    """
    request = run.request
    read_blocklist(getattr(request, "blocklist", None))
    _require_reports(getattr(request, "reports", None))
    if request.sign_off and not can_ask.get():
        raise BadInput(
            "sign-off needs a terminal or a deployed run; run again in one. Nobody was charged."
        )
    _require_keys(run.home)
    _require_writable(run)
    if not run.state.has(Kind.RESERVED):
        require_one_budget(request, run.ledger.entries())
    if run.needs_the_log:
        memory.for_duckdb()  # which refuses a setting that is none
        if request.engine == SPARK:
            from tasks.log.spark.session import require_spark  # few need it

            require_spark()
        _require_space(run)
        for suite in run.product.suites:
            read_suite(suite)


def _require_reports(path: Path | None) -> None:
    """See that devices' reports can be read, if some are given."""
    if path is None:
        return
    files = sorted(path.iterdir()) if path.is_dir() else [path]
    for file in files[:1] or [path / "a report"]:
        try:
            with file.open("rb") as opened:
                opened.read(1)
        except OSError as error:
            raise BadInput(
                f"{file} cannot be read as reports of devices ({type(error).__name__}); "
                "give the file or the folder that holds them."
            ) from None


def _require_keys(home: Home) -> None:
    """See that what is signed here can be checked with the key that readers have."""
    signature = Keyring.open(home).signing.sign(_PROBE)
    path = home.public / "signing.pub"
    if not is_signed(read_public_key(path), _PROBE, signature):
        raise KeyProblem(
            f"{path} does not fit private/keys/signing.key: readers could not check what is "
            "signed. Restore the keys from the backup."
        )


def _require_writable(run: LogRun) -> None:
    home, request = run.home, run.request
    zones = (home.private, home.participation, home.quality, home.warehouses, home.measurements)
    for folder in (*zones, home.shelf(request.product, request.locale)):
        _require_folder(folder)


def _require_folder(folder: Path) -> None:
    """See that files can be made in a folder, or in the nearest one above it that is there."""
    nearest = next(path for path in (folder, *folder.parents) if path.exists())
    probe = nearest / f".probe.{uuid.uuid4().hex}.partial"
    try:
        os.close(os.open(probe, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        probe.unlink()
    except OSError as error:
        raise BadInput(
            f"nothing can be written in {nearest} ({type(error).__name__}); make it a folder that "
            "its owner may write to."
        ) from None


def _require_space(run: LogRun) -> None:
    needed = _SPARE_BYTES + needed_bytes(log_source(run.request).files)
    roster = roster_source(run.request)
    needed += needed_bytes(roster.files) if roster else 0
    free = shutil.disk_usage(run.home.warehouses).free
    if free < needed:
        raise BadInput(
            f"{run.home.warehouses} has {free / 1e6:,.0f} MB free, and the log's tables may take "
            f"{needed / 1e6:,.0f} MB ({TEXT_FACTOR} times a text file, {COMPRESSED_FACTOR} times a "
            "compressed one); make room, or move the home. Nobody was charged."
        )


def needed_bytes(files: Sequence[LogFile]) -> int:
    """Return what the tables of these files take at most, by their sizes."""
    factors = [
        COMPRESSED_FACTOR if file.suffix in (".gz", ".parquet") else TEXT_FACTOR for file in files
    ]
    return sum(size_of(file) * factor for file, factor in zip(files, factors, strict=True))
