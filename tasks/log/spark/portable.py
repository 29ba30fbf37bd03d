"""Our SQL on Spark: written once, in DuckDB's dialect, and translated by sqlglot.

Nothing is translated that is not known to mean the same. Whatever looks into texts (times, white
space, numbers, patterns) differs between engines in silence; such steps look at each row alone and
run in DuckDB on either engine. What is left are joins, groups, windows and whole numbers: every
kind of expression that may stand there is listed here, and the tests compared each on both engines.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import sqlglot
from sqlglot import exp

from tasks.log.failures import EngineFailed

SQL = Path(__file__).parents[3] / "sql"

_ALLOWED: tuple[type[exp.Expr], ...] = (
    # What a query is made of.
    exp.Select, exp.Union, exp.With, exp.CTE, exp.Subquery, exp.From, exp.Join, exp.Where,
    exp.Group, exp.Having, exp.Order, exp.Ordered, exp.Limit, exp.Distinct, exp.Star, exp.Table,
    exp.TableAlias, exp.Column, exp.Alias, exp.Identifier, exp.Paren, exp.Tuple,
    # Values.
    exp.Literal, exp.Boolean, exp.Null, exp.Placeholder, exp.Parameter, exp.Var, exp.Neg,
    # Comparisons: of texts byte by byte on either engine.
    exp.And, exp.Or, exp.Not, exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.Is, exp.In,
    # Whole numbers. `/` divides as floating point on either engine.
    exp.Add, exp.Sub, exp.Mul, exp.Div, exp.IntDiv, exp.Mod, exp.Least, exp.Greatest,
    exp.Case, exp.If, exp.Coalesce, exp.Nullif, exp.Cast, exp.DataType, exp.DataTypeParam,
    # Groups and windows.
    exp.Count, exp.Sum, exp.Min, exp.Max, exp.LogicalAnd, exp.LogicalOr, exp.Filter, exp.Window,
    exp.WindowSpec, exp.RowNumber, exp.DenseRank, exp.ArgMin, exp.Struct, exp.PropertyEQ,
    # Lists of whole numbers.
    exp.ArrayAgg, exp.ArraySort, exp.Explode, exp.GenerateSeries,
    # Bytes and hashes: a text's are those of its UTF-8.
    exp.SHA2, exp.DPipe, exp.Substring,
)  # fmt: skip
_ALLOWED_TYPES = (exp.DataType.Type.BIGINT, exp.DataType.Type.BOOLEAN, exp.DataType.Type.VARCHAR,
                  exp.DataType.Type.DOUBLE, exp.DataType.Type.TEXT)  # fmt: skip
# Counts from 1 on either engine. (Square brackets do not.) sqlglot does not know it.
_ELEMENT = "LIST_EXTRACT"


@dataclass(frozen=True, slots=True)
class PortableStep:
    """One step, in Spark's words."""

    text: str
    tables: tuple[str, ...]  # what it reads
    is_ordered: bool  # its rows have an order that its readers rely on


class NotPortable(EngineFailed):
    """A step says something that may mean another thing on Spark."""


@cache
def portable(file: str, whole_numbers: tuple[str, ...] = ()) -> PortableStep:
    """Translate a file below `sql/`; `whole_numbers` names parameters that are whole numbers."""
    text = (SQL / f"{file}.sql").read_text(encoding="utf-8")
    tree = sqlglot.parse_one(text, read="duckdb")
    _require_portable(file, tree)
    tree = _respelled(tree, whole_numbers)
    return PortableStep(
        tree.sql(dialect="spark", unsupported_level=sqlglot.ErrorLevel.RAISE, comments=False),
        _tables_of(tree),
        tree.args.get("order") is not None,
    )


def whole_numbers_in(params: Mapping[str, object]) -> tuple[str, ...]:
    """Return the names of parameters that are whole numbers: 64 bits wide on either engine."""
    return tuple(name for name, value in params.items() if type(value) is int)


def _require_portable(file: str, tree: exp.Expr) -> None:
    for node in tree.walk():
        is_known = isinstance(node, _ALLOWED) or (
            isinstance(node, exp.Anonymous) and node.name.upper() == _ELEMENT
        )
        is_known &= not isinstance(node, exp.DataType) or node.this in _ALLOWED_TYPES
        # Lists are collected in no order on Spark: sort them.
        is_known &= not isinstance(node, exp.ArrayAgg) or _is_sorted(node)
        if not is_known:
            raise NotPortable(
                f"step {file} has {type(node).__name__}, of which nobody knows that it means the "
                "same on Spark. Write it otherwise, or let the step look at each row alone."
            )


def _is_sorted(collected: exp.Expr) -> bool:
    parent = collected.parent
    if isinstance(parent, exp.Filter):
        parent = parent.parent
    return isinstance(parent, exp.ArraySort)


def _respelled(tree: exp.Expr, whole_numbers: Iterable[str]) -> exp.Expr:
    for node in list(tree.find_all(exp.Anonymous)):
        values, place = node.expressions
        node.replace(exp.func("element_at", values, exp.cast(place, "int")))
    for node in list(tree.find_all(exp.Placeholder, exp.Parameter)):
        if node.name in whole_numbers:
            node.replace(exp.cast(node.copy(), "bigint"))
    return tree


def _tables_of(tree: exp.Expr) -> tuple[str, ...]:
    own = {cte.alias_or_name for cte in tree.find_all(exp.CTE)}
    named = dict.fromkeys(table.name for table in tree.find_all(exp.Table))
    return tuple(name for name in named if name not in own)
