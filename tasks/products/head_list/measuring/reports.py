"""Take the reports that devices sent: count the usable ones, and what was wrong with the others.

A report keeps nothing but its cells; which device sent it, when and in which file is dropped.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa

from hybriddp.arrays import IntArray
from hybriddp.blender.clients import client_mechanism, reports_are_sets, reports_per_client
from tasks.gates.quality import judge
from tasks.ledger.rules import Kind
from tasks.log.ingest import write_quality
from tasks.log.raw.files import BadInput
from tasks.measured.drawing import seal_once
from tasks.products.head_list import CLIENTS
from tasks.products.head_list.estimation.processing import published_listing
from tasks.products.head_list.measuring.collection import collection_id
from tasks.products.head_list.measuring.draws import reports_table
from tasks.products.head_list.run import HeadListRun, params_of

# A report of the most cells that a device sends is far shorter.
_MAX_LINE_BYTES = 1 << 20
_TOO_LONG = b"too long"  # which is no JSON
# As devices write it: other spellings of the same bytes would count one report twice.
_NONCE = re.compile(r"[0-9a-f]{32}")


@dataclass
class Tally:
    """How many reports came, and what became of them."""

    n_reports_read: int = 0
    n_accepted: int = 0
    n_malformed: int = 0
    n_duplicate: int = 0
    n_foreign: int = 0
    n_out_of_list: int = 0

    @property
    def bad_report_share(self) -> float:
        """Share of reports that were left out."""
        bad = self.n_reports_read - self.n_accepted
        return bad / self.n_reports_read if self.n_reports_read else 1.0


def collect_reports(run: HeadListRun) -> bool:
    """Seal the devices' reports; return False while there are none yet (COLLECTING)."""
    if run.state.has(Kind.DRAWN, CLIENTS):
        return True
    if run.request.reports is None:
        return False
    listing = published_listing(run)
    mechanism = client_mechanism(listing.head_list, params_of(run))

    def count() -> IntArray:
        assert run.request.reports is not None
        counts, tally = read_reports(
            run.request.reports,
            collection_id(run),
            listing.head_list.n_cells,
            reports_per_client(mechanism),
            are_sets=reports_are_sets(mechanism),
        )
        metrics: dict[str, Any] = asdict(tally) | {"bad_report_share": tally.bad_report_share}
        verdict = judge(
            "client_reports",
            pa.Table.from_pylist([metrics]),
            {
                "max_bad_report_share": run.request.max_bad_report_share,
                "min_accepted": float(run.request.min_group_size),
            },
        )
        write_quality(run, "client_reports", metrics, verdict)
        verdict.require()
        return counts

    texts = listing if run.request.series is not None else None
    seal_once(run, CLIENTS, mechanism.event, lambda: reports_table(count(), texts))
    return True


def read_reports(
    path: Path, release_id: str, n_cells: int, cells_per_report: int, *, are_sets: bool = False
) -> tuple[IntArray, Tally]:
    """Count the cells of all usable reports in a file of JSON lines, or in a folder of them.

    A set holds no cell twice.
    """
    counts, tally = np.zeros(n_cells, dtype=np.int64), Tally()
    seen: set[bytes] = set()
    for line in _lines(path):
        tally.n_reports_read += 1
        report = _parse(line, cells_per_report, are_sets)
        if report is None:
            tally.n_malformed += 1
            continue
        report_release, nonce, cells = report
        if report_release != release_id:
            tally.n_foreign += 1
        elif nonce in seen:
            tally.n_duplicate += 1
        elif max(cells) >= n_cells:
            tally.n_out_of_list += 1
        else:
            seen.add(nonce)
            tally.n_accepted += 1
            for cell in cells:
                counts[cell] += 1
    return counts, tally


def _lines(path: Path) -> Iterator[bytes]:
    # Errors name the operator's path alone: names inside may say whose reports they are.
    unreadable = BadInput(
        f"{path} cannot be read as reports, or holds something that is no file; check the path."
    )
    try:
        files = sorted(path.iterdir()) if path.is_dir() else [path]
        for file in files:
            if not file.is_file():  # a pipe would never end
                raise unreadable
            with file.open("rb") as opened:
                yield from _short_lines(opened)
    except OSError:
        raise unreadable from None


def _short_lines(opened: BinaryIO) -> Iterator[bytes]:
    """Read lines that are not blank; a longer one than reports are is one that says nothing."""
    while line := opened.readline(_MAX_LINE_BYTES):
        rest = line
        while len(rest) == _MAX_LINE_BYTES and not rest.endswith(b"\n"):
            # What follows is no line of its own: one device would send as many reports as it likes.
            line, rest = _TOO_LONG, opened.readline(_MAX_LINE_BYTES)
        if line.strip():
            yield line


def _parse(
    line: bytes, cells_per_report: int, are_sets: bool
) -> tuple[str, bytes, list[int]] | None:
    """Return release, nonce and cells of a well-formed report."""
    try:
        report = json.loads(line)
        if not isinstance(report, dict) or set(report) != {"release_id", "nonce", "cells"}:
            return None
        release_id, nonce, cells = report["release_id"], report["nonce"], report["cells"]
        if not isinstance(release_id, str) or _NONCE.fullmatch(nonce) is None:
            return None
        is_whole = isinstance(cells, list) and all(type(c) is int and c >= 0 for c in cells)
        if not is_whole or len(cells) != cells_per_report:
            return None
        if are_sets and len(set(cells)) < len(cells):
            return None
        return release_id, bytes.fromhex(nonce), cells
    except (ValueError, TypeError, RecursionError):
        return None
