"""The bytes of published tables: fixed rounding, the same on every machine."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, Decimal
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq


def rounded(value: float, decimals: int) -> float:
    """Round to decimals, halves to even, by the exact value of the float."""
    step = Decimal(1).scaleb(-decimals)
    return float(Decimal(value).quantize(step, rounding=ROUND_HALF_EVEN))


def parquet_bytes(table: pa.Table) -> bytes:
    """Return a table's file, in a form that does not depend on its history."""
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression="snappy", store_schema=False)
    return bytes(sink.getvalue())


def writer_version() -> str:
    """Return what Parquet files that are written now say of who wrote them: in every one."""
    return str(pq.read_metadata(pa.BufferReader(parquet_bytes(pa.table({})))).created_by)


def jsonl_bytes(table: pa.Table, decimals: int = 0) -> bytes:
    """Return a table's rows as JSON, probabilities with fixed decimals."""
    lines = [_json_line(row, decimals) for row in table.to_pylist()]
    return "".join(line + "\n" for line in lines).encode()


def _json_line(row: dict[str, object], decimals: int) -> str:
    fields = (
        f"{json.dumps(name)}:"
        + (
            f"{value:.{decimals}f}"
            if isinstance(value, float)
            else json.dumps(value, ensure_ascii=False)
        )
        for name, value in row.items()
    )
    return "{" + ",".join(fields) + "}"


def files_of(tables: Mapping[str, pa.Table], decimals: int = 0) -> dict[str, bytes]:
    """Return every table in both of its forms, by the names of their files."""
    files = {}
    for name, table in tables.items():
        files[f"{name}.parquet"] = parquet_bytes(table)
        files[f"{name}.jsonl"] = jsonl_bytes(table, decimals)
    return files


@dataclass(frozen=True, slots=True)
class Made:
    """What a release publishes: tables by name, and what its manifest says about them."""

    tables: Mapping[str, pa.Table]
    facts: Mapping[str, Any]
    decimals: int = 0

    @property
    def files(self) -> dict[str, bytes]:
        """The data files by name."""
        return files_of(self.tables, self.decimals)
