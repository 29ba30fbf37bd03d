"""Small things that the engine does with Spark's frames."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from hybriddp.errors import HybridDPError
from tasks.log.failures import EngineFailed, EngineLost
from tasks.log.raw.file_sql import Columns, Typed
from tasks.log.raw.files import Source
from tasks.log.spark.cluster import what_was_lost
from tasks.log.spark.kernels import ROW

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# Hidden: the place of a row in the order of its result.
PLACE = "_place"


def mapped(frame: "DataFrame", kernel: Callable[..., Any], schema: pa.Schema) -> "DataFrame":
    """Run a kernel on all parts of a frame."""
    from pyspark.sql.pandas.types import from_arrow_schema

    return frame.mapInArrow(kernel, from_arrow_schema(schema, prefer_timestamp_ntz=True))


def with_place(frame: "DataFrame") -> "DataFrame":
    """Number the rows in the order that they are in."""
    from pyspark.sql.functions import monotonically_increasing_id

    return frame.withColumn(PLACE, monotonically_increasing_id())


def raw_schema(source: Source, columns: Columns, typed: Typed) -> pa.Schema:
    """Return what is read of files: texts, lists of texts, what is typed, and each row's place."""
    kinds = {
        name: pa.string() if column is None or isinstance(column, str) else pa.list_(pa.string())
        for name, column in columns.items()
    }
    for name, may_be in typed.items():
        if columns[name] in may_be:
            kinds[name] = pa.timestamp("us") if columns[name] in source.times else pa.int64()
    return pa.schema([*kinds.items(), (ROW, pa.int64())])


@contextmanager
def silent(spark: "SparkSession", step: str) -> Iterator[None]:
    """Turn an error of Spark's into one that quotes nothing."""
    try:
        yield
    except (HybridDPError, KeyboardInterrupt):
        raise
    except Exception as error:
        if lost := what_was_lost(spark, error):
            raise EngineLost(
                f"step {step} was not finished: {lost}. Run it again when the cluster is there. "
                "Nobody was charged."
            ) from None
        raise EngineFailed(
            f"step {step} failed in Spark ({type(error).__name__}); its message may quote the log "
            "and is not shown. Run `hybriddp doctor`, then look at the log yourself."
        ) from None
