"""Our SQL on Spark: written once, in DuckDB's dialect, and translated by sqlglot.

Nothing is translated that is not known to mean the same. Whatever looks into texts (times, white
space, numbers, patterns) differs between engines in silence; such steps look at each row alone and
run in DuckDB on either engine. What is left are joins, groups, windows and whole numbers: every
kind of expression that may stand there is listed here, and the tests compared each on both engines.
"""

from collections.abc import Callable, Iterable, Mapping
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
    exp.TableAlias, exp.Column, exp.Alias, exp.Identifier, exp.Paren,
    # Values.
    exp.Literal, exp.Boolean, exp.Null, exp.Placeholder, exp.Neg,
    # Comparisons: of texts byte by byte on either engine.
    exp.And, exp.Or, exp.Not, exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.Is, exp.In,
    # Whole numbers. `/` divides as floating point on either engine.
    exp.Add, exp.Sub, exp.Mul, exp.Div, exp.IntDiv, exp.Mod, exp.Least,
    exp.Case, exp.If, exp.Coalesce, exp.Nullif, exp.Cast, exp.DataType,
    # Groups and windows.
    exp.Count, exp.Sum, exp.Min, exp.Max, exp.LogicalAnd, exp.LogicalOr, exp.Filter, exp.Window,
    exp.RowNumber, exp.DenseRank,
    # Lists of whole numbers.
    exp.ArrayAgg, exp.ArraySort, exp.Explode, exp.GenerateSeries,
    # Bytes and hashes: a text's are those of its UTF-8.
    exp.SHA2, exp.DPipe, exp.Substring,
)  # fmt: skip
_ALLOWED_TYPES = (exp.DataType.Type.BIGINT, exp.DataType.Type.TEXT)
# Counts from 1 on either engine. (Square brackets do not.) sqlglot does not know it.
_ELEMENT = "LIST_EXTRACT"
# A row's place is never null: Spark collects no nulls into lists.
_NEVER_NULL = ("rowid",)


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
        is_known &= not any(
            isinstance(node, kind) and not is_alike(node) for kind, is_alike in _ONLY.items()
        )
        if not is_known:
            raise NotPortable(
                f"step {file} has {type(node).__name__}, of which nobody knows that it means the "
                "same on Spark. Write it otherwise, or let the step look at each row alone."
            )


def _is_whole_already(cast: exp.Expr) -> bool:
    """Whether a cast changes the width of a whole number, or names the type of no value at all."""
    value = cast.this
    is_sum = isinstance(value.this if isinstance(value, exp.Window) else value, exp.Sum)
    is_number = isinstance(value, exp.Literal) and value.is_int
    return is_sum or is_number or isinstance(value, exp.Null | exp.Placeholder)


def _is_inside(part: exp.Expr) -> bool:
    """Whether a part of a text is named by numbers from 1 on; others are counted otherwise."""
    named = (part.args.get("start"), part.args.get("length"))
    return all(isinstance(n, exp.Literal) and n.is_int and int(n.name) >= 1 for n in named)


def _counts_up(series: exp.Expr) -> bool:
    """Whether a series goes from 0 on in steps of one."""
    return series.args["start"].name == "0" and series.args.get("step") is None


def _is_sorted(collected: exp.Expr) -> bool:
    """Whether a list has its order from being sorted: on Spark rows are collected in none."""
    parent = collected.parent
    if isinstance(parent, exp.Filter):
        parent = parent.parent
    is_column = isinstance(collected.this, exp.Column) and collected.this.name in _NEVER_NULL
    return is_column and isinstance(parent, exp.ArraySort)


# What means the same in some forms alone.
_ONLY: Mapping[type[exp.Expr], Callable[[exp.Expr], bool]] = {
    exp.Cast: _is_whole_already,
    exp.Substring: _is_inside,
    exp.GenerateSeries: _counts_up,
    exp.ArrayAgg: _is_sorted,
}


def _respelled(tree: exp.Expr, whole_numbers: Iterable[str]) -> exp.Expr:
    for node in list(tree.find_all(exp.Anonymous)):
        values, place = node.expressions
        node.replace(exp.func("element_at", values, exp.cast(place, "int")))
    for node in list(tree.find_all(exp.Placeholder)):
        if node.name in whole_numbers:
            node.replace(exp.cast(node.copy(), "bigint"))
    return tree


def _tables_of(tree: exp.Expr) -> tuple[str, ...]:
    own = {cte.alias_or_name for cte in tree.find_all(exp.CTE)}
    named = dict.fromkeys(table.name for table in tree.find_all(exp.Table))
    return tuple(name for name in named if name not in own)
