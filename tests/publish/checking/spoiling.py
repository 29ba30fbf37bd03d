"""What nobody may do to a published file without being seen."""

import hashlib
import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tasks.products.files import jsonl_bytes, parquet_bytes
from tasks.release.run import Release
from tasks.store.keys import Keyring
from tasks.verify.checks import VerificationFailed
from tasks.verify.manifest import manifest_bytes, signed_bytes
from tasks.verify.reading import Misfit, described
from tasks.verify.verify import verify_release


def require_every_change_to_be_seen(path: Path, key: bytes) -> None:
    """Change bytes at the ends and inside of a file and add one; leave it as it was."""
    data = path.read_bytes()
    changed = [
        data[:position] + bytes([data[position] ^ 1]) + data[position + 1 :]
        for position in {0, len(data) // 3, len(data) // 2, len(data) - 1}
    ]
    for spoilt in [*changed, data + b"\n"]:
        path.write_bytes(spoilt)
        with pytest.raises(VerificationFailed):
            verify_release(path.parent, key)
    path.write_bytes(data)
    verify_release(path.parent, key)


class Publisher:
    """Somebody with the home's own key, who signs something else."""

    def __init__(self, run: Release, folder: Path) -> None:
        self._run, self.folder = run, folder
        self.manifest = json.loads((folder / "manifest.json").read_bytes())

    def sign(self, **tables: pa.Table) -> None:
        """Publish these tables in place of the others, the label that fits, and this manifest."""
        for name, table in tables.items():
            self.manifest["rows"][name] = table.num_rows
            self.write(f"{name}.parquet", parquet_bytes(table))
            self.write(f"{name}.jsonl", jsonl_bytes(table, self.manifest.get("decimals", 0)))
            with suppress(Misfit):  # then no label fits it
                label = self._run.product.checking.label(described(self.manifest))
                self.write("label.md", label.encode())
        data = manifest_bytes(self.manifest)
        (self.folder / "manifest.json").write_bytes(data)
        signature = Keyring.open(self._run.home).signing.sign(signed_bytes(data))
        (self.folder / "manifest.sig").write_bytes(signature)

    def rows(self, name: str) -> list[dict[str, Any]]:
        """Return a published table's rows."""
        return pq.read_table(self.folder / f"{name}.parquet").to_pylist()

    def table(self, name: str, rows: list[dict[str, Any]]) -> pa.Table:
        """Return rows as a table; ranks, if it has any, as they stand."""
        schema = pq.read_schema(self.folder / f"{name}.parquet").remove_metadata()
        if "rank" in schema.names:
            rows = [{**row, "rank": rank} for rank, row in enumerate(rows, start=1)]
        return pa.Table.from_pylist(rows, schema=schema)

    def write(self, name: str, data: bytes) -> None:
        """Put a file in place of another, and its hash into the manifest."""
        (self.folder / name).write_bytes(data)
        facts = {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
        self.manifest["files"][name] = facts
