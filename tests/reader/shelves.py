"""A shelf to spoil: real releases, and the publisher's hand to sign what no publisher would."""

import hashlib
import json
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hybriddp.device.canonical import canonical_json
from tasks.verify.manifest import signed_bytes

Sign = Callable[[bytes], bytes]


@dataclass(frozen=True)
class Shelf:
    """A product's shelf with the releases of two weeks, of which the second is the newest."""

    path: Path
    key: bytes
    sign: Sign

    def copied(self, folder: Path) -> "Shelf":
        """Return the same shelf in a folder of its own."""
        return Shelf(shutil.copytree(self.path, folder, symlinks=True), self.key, self.sign)

    @property
    def pointer(self) -> dict[str, Any]:
        """What `latest.json` says."""
        return json.loads((self.path / "latest.json").read_bytes())

    @property
    def newest(self) -> Path:
        """The folder that readers are led to."""
        return self.path / self.pointer["release"]

    @property
    def older(self) -> Path:
        """The folder of the week before."""
        (other,) = (p for p in self.path.iterdir() if p.is_dir() and p != self.newest)
        return other

    @property
    def manifest(self) -> dict[str, Any]:
        """What the newest release's manifest says."""
        return json.loads((self.newest / "manifest.json").read_bytes())

    def lead_to(self, folder: Path) -> None:
        """Lead readers to a release, as the publisher would."""
        manifest = json.loads((folder / "manifest.json").read_bytes())
        facts = {name: manifest[name] for name in ("epoch", "expires", "sequence")}
        self.point(release=folder.name, schema_version=1, **facts)

    def point(self, **facts: Any) -> None:
        """Write what `latest.json` says, but for what is None."""
        kept = {name: fact for name, fact in facts.items() if fact is not None}
        (self.path / "latest.json").write_bytes(canonical_json(kept))

    def sign_bytes(self, data: bytes) -> None:
        """Sign any bytes as the newest release's manifest."""
        folder = self.newest
        (folder / "manifest.json").write_bytes(data)
        (folder / "manifest.sig").write_bytes(self.sign(signed_bytes(data)))

    def sign_manifest(self, **facts: Any) -> None:
        """Sign other facts of the newest release, and say the same in `latest.json`."""
        manifest = self.manifest | facts
        self.sign_bytes(canonical_json(manifest))
        seen = {name: manifest.get(name) for name in ("epoch", "expires", "sequence")}
        self.point(**(self.pointer | seen))

    def sign_files(self, files: Mapping[str, bytes], **facts: Any) -> None:
        """Put other files into the newest release, and sign them."""
        stated = dict(self.manifest["files"])
        for name, data in files.items():
            (self.newest / name).write_bytes(data)
            stated[name] = {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
        self.sign_manifest(files=stated, **facts)

    def sign_rows(self, table: str, rows: list[dict[str, Any]]) -> None:
        """Sign other rows of a table."""
        data = b"".join(json.dumps(row).encode() + b"\n" for row in rows)
        counts = self.manifest["rows"] | {table: len(rows)}
        self.sign_files({f"{table}.jsonl": data}, rows=counts)

    def rows(self, table: str) -> list[dict[str, Any]]:
        """Return the rows of a table of the newest release."""
        lines = (self.newest / f"{table}.jsonl").read_bytes().splitlines()
        return [json.loads(line) for line in lines]
