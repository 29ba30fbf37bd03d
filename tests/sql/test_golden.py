"""Every step of SQL on tables that fit on a page."""

import tomllib
from pathlib import Path

import pyarrow as pa
import pytest

from tasks.log.engine import SQL, DuckDBEngine
from tests.engines import empty_database

HERE = Path(__file__).parent


def _step_of(path, root):
    """Return a step as the engine is asked for it: its room and its name."""
    return path.relative_to(root).with_suffix("").as_posix()


STEPS = sorted(_step_of(path, SQL) for path in SQL.rglob("*.sql"))
CASES = {path: _step_of(path.parent, HERE) for path in sorted(HERE.rglob("*.toml"))}


def arrow_type(alias):
    """Return a column's type by its name; `list<string>` is a list of texts."""
    inside = alias.removeprefix("list<").removesuffix(">")
    return pa.list_(arrow_type(inside)) if inside != alias else pa.type_for_alias(alias)


def arrow_table(columns, rows):
    """Return a table of a case; columns that a row leaves out are null."""
    assert all(row.keys() <= columns.keys() for row in rows)
    types = {name: arrow_type(alias) for name, alias in columns.items()}

    def value(row, name):
        if name not in row:
            return None
        if pa.types.is_list(types[name]):  # TOML has no null, so {} stands for it in a list
            return [None if element == {} else element for element in row[name]]
        return bytes.fromhex(row[name]) if types[name] == pa.binary() else row[name]

    return pa.table(
        {name: pa.array([value(row, name) for row in rows], types[name]) for name in types}
    )


def bound(params):
    """Return a step's parameters, with bytes for hexadecimal text."""
    return {
        name: bytes.fromhex(value["hex"]) if isinstance(value, dict) else value
        for name, value in params.items()
    }


def readable(table, ordered):
    """Return rows that pytest can compare and show; sorted unless their order counts."""
    rows = [tuple(row.items()) for row in table.to_pylist()]
    return rows if ordered else sorted(rows, key=repr)


@pytest.mark.parametrize("path", CASES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_step(path):
    case = tomllib.loads(path.read_text(encoding="utf-8"))
    assert case["about"]
    with empty_database() as connection:
        engine = DuckDBEngine(connection)
        for name, given in case["tables"].items():
            # Stored, not only shown: some steps tell rows apart by where they are.
            connection.register("given", arrow_table(**given))
            connection.execute(f"create table {name} as select * from given")
        engine.step(CASES[path], into="the_result", **bound(case.get("params", {})))
        result = engine.fetch("the_result")
    expected, ordered = arrow_table(**case["expected"]), case.get("ordered", False)
    assert result.column_names == expected.column_names
    assert readable(result, ordered) == readable(expected, ordered)


@pytest.mark.parametrize("step", STEPS)
def test_step_says_its_grain_and_has_a_case(step):
    first_line = (SQL / f"{step}.sql").read_text(encoding="utf-8").split("\n", 1)[0]
    assert first_line.startswith("-- Grain: ")
    assert step in CASES.values()


def test_cases_are_those_of_steps():
    assert set(CASES.values()) <= set(STEPS)
