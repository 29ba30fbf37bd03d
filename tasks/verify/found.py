"""What lies in the folder of a release, checked against its manifest: files, tables, promise."""

import hashlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa

from tasks.products.product import Checking, Product
from tasks.products.registry import product_with
from tasks.store.reading import (
    MAX_FILE_BYTES,
    MAX_TABLE_BYTES,
    parse_json,
    parse_rows,
    read_file,
)
from tasks.store.tables import parse_parquet, parse_twin
from tasks.verify.checks import LeftOut, VerificationFailed, require_same_people
from tasks.verify.manifest import Manifest, code_version

_OWN = {"manifest.json", "manifest.sig"}
# All signed files together; a release is far smaller, and all of it is held in memory.
_MAX_RELEASE_BYTES = 512 * 2**20


@dataclass(frozen=True, slots=True)
class Source:
    """Where the measurements of a release lie, and what a ledger that is at hand says of them."""

    folder: Path
    # Texts that are left out; without a ledger nobody knows more than that some are missing.
    hidden: frozenset[str] | None = None
    hidden_before: frozenset[str] | None = None  # those of the week before, if it is of a season


@dataclass
class Found:
    """What a folder holds, read once: what was checked is what is used."""

    folder: Path
    manifest: Manifest

    @cached_property
    def product(self) -> Product:
        """What kind of release it is."""
        return product_with(self.manifest.parameters.strategy)

    @property
    def verifier(self) -> Checking:
        """What this kind of release adds."""
        return self.product.checking

    @cached_property
    def files(self) -> dict[str, bytes]:
        """Every file, with the size and hash that were signed."""
        found = {}
        self._require_files_of_a_release()
        for name, facts in self.manifest.files.items():
            data = read_file(self.folder, name, min(facts.bytes, MAX_TABLE_BYTES))
            if len(data) != facts.bytes or hashlib.sha256(data).hexdigest() != facts.sha256:
                raise VerificationFailed(
                    f"{name} is not the file that was signed; get the release again."
                )
            found[name] = data
        return found

    def _require_files_of_a_release(self) -> None:
        """See that the manifest lists what this kind of release has, before anything is read."""
        signed, stems = self.manifest.files, self.verifier.schemas(self.manifest)
        known = {"label.md", *(f"{stem}.{form}" for stem in stems for form in ("jsonl", "parquet"))}
        if set(signed) - known:
            shown = ", ".join(sorted(set(signed) - known)[:5])
            raise VerificationFailed(f"signed files that no release of this kind has: {shown}.")
        if sum(facts.bytes for facts in signed.values()) > _MAX_RELEASE_BYTES:
            raise VerificationFailed(
                f"the signed files are larger than {_MAX_RELEASE_BYTES} bytes together."
            )

    def file(self, name: str) -> bytes:
        """Return one of the signed files."""
        if name not in self.files:
            raise VerificationFailed(f"{name} is missing among the signed files.")
        return self.files[name]

    def check_files(self) -> str:
        """See that the signed files are there, and nothing else is."""
        known = {*self.manifest.files, *_OWN}
        extra = {path.name for path in self.folder.iterdir()} - known
        if extra:
            shown = ", ".join(sorted(extra)[:5])
            raise VerificationFailed(f"files that the manifest does not list: {shown}.")
        return f"{len(self.files)} files have the signed sizes and hashes"

    @cached_property
    def tables(self) -> dict[str, pa.Table]:
        """Every published table, which both of its forms say."""
        found = {}
        for stem, schema in self.verifier.schemas(self.manifest).items():
            name, twin = f"{stem}.parquet", f"{stem}.jsonl"
            data = self.file(twin)
            rows = list(parse_rows(data, twin, _has_exactly(schema.names)))
            table = parse_twin(self.file(name), name, schema, rows, len(data))
            if rows != table.to_pylist():
                raise VerificationFailed(f"{name} and {twin} do not say the same.")
            if table.num_rows != self.manifest.rows.get(stem):
                raise VerificationFailed(
                    f"{name} has another number of rows than the manifest says."
                )
            found[stem] = table
        return found

    def check_tables(self) -> str:
        """See that the tables have their columns, and that both forms agree."""
        return f"{len(self.tables)} tables have their schema, and both forms of each say the same"

    def require_hidden(self, hidden: frozenset[str]) -> str:
        """See that no table shows a text that is left out."""
        for name, table in self.tables.items():
            for column in set(table.column_names) - {"url"}:
                if not hidden.isdisjoint(table[column].to_pylist()):
                    raise VerificationFailed(
                        f"{name}.parquet shows a text that the ledger says is left out: somebody "
                        "has the key. Do not use the release."
                    )
        return f"{len(hidden)} texts are left out"

    def check_promise(self) -> str:
        """See that what is promised follows from the parameters, and the label from both."""
        manifest, verifier = self.manifest, self.verifier
        verifier.check_promise(manifest, self.tables)
        require_same_people(manifest)
        if manifest.code_version != code_version():  # which may say the same in other words
            return "guarantees follow from the parameters"
        words = {group: promised.words for group, promised in manifest.guarantees.items()}
        if words != verifier.words(manifest):
            raise VerificationFailed("the guarantees are not in the words of this kind of release.")
        if self.file("label.md") != verifier.label(manifest).encode():
            raise VerificationFailed("label.md does not say what the manifest promises.")
        return "guarantees follow from the parameters, the label from both"

    def check_recomputed(self, source: Source) -> str:
        """Make the tables again from the noisy measurements."""
        signed, measurements = self.manifest.measurements, source.folder
        measured = {
            group: self._measurement(measurements, group, signed.get(group))
            for group in self.verifier.groups(self.manifest)
        }
        decided = self._as_decided(measured, measurements)
        if self.product.remembers:
            # The folder of an attempt stands in that of its release, beside those of others.
            every = measurements.resolve().parent.parent
            decided = dict(decided) | {
                key: self._measurement(every / release / str(attempt), group, digest)
                for key, release, attempt, group, digest in self.verifier.earlier(self.manifest)
            }
        again = self.verifier.recomputed_files(
            self.manifest, self.tables, decided, LeftOut(source.hidden, source.hidden_before)
        )
        for name, data in again.items():
            # Parquet's bytes depend on the writer's version; its rows do not.
            same = (
                parse_parquet(data, name).equals(self.tables[name.removesuffix(".parquet")])
                if name.endswith(".parquet")
                else data == self.file(name)
            )
            if not same:
                raise VerificationFailed(
                    f"{name} is not what the measurements give; it was altered."
                )
        return "the tables are what the noisy measurements give"

    def _measurement(self, folder: Path, group: str, digest: str | None) -> pa.Table:
        """Read a measurement, if it is the one that was signed."""
        file = self.product.groups[group].file
        data = read_file(folder, file, MAX_FILE_BYTES)
        if hashlib.sha256(data).hexdigest() != digest:
            raise VerificationFailed(f"{file} is not the measurement that the manifest names.")
        return parse_parquet(data, file)

    def _as_decided(self, measured: dict[str, pa.Table], folder: Path) -> Mapping[str, pa.Table]:
        """Read what was decided between draws, if anything was."""
        signed, decided = self.manifest.measurements, {}
        for name, file in self.product.decisions.items():
            if name in signed:
                data = read_file(folder, file)
                if hashlib.sha256(data).hexdigest() != signed[name]:
                    raise VerificationFailed(f"{file} is not the decision that the manifest names.")
                decided[name] = parse_json(data, file)
        return self.verifier.decided(measured, decided) if decided else measured


def _has_exactly(columns: Iterable[str]) -> Callable[[dict[str, Any]], bool]:
    names = set(columns)
    return lambda row: row.keys() == names
