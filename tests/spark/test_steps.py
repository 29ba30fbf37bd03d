"""Every file of sql/ on Spark: the golden cases that it passes on DuckDB."""

import tomllib

import pyarrow as pa
import pytest

from tests.sql.test_golden import CASES, arrow_table, bound, readable

# Steps that look into texts, and the table that each looks at row by row.
BY_ROW = {
    "log/accounts": "members",
    "log/stg_roster": "raw_roster",
    "log/stg_search_log": "raw_log",
    "numbers/stg_numbers": "raw_log",
    "histograms/typed_keywords": "named_queries",
}
# Steps that need all rows of a person, or of a line, and no others.
BY_GROUP = {
    "numbers/person_numbers": ("stg_log", "person"),
    "log/broken_lines": ("raw_log_errors", "line"),
}
# Of the ledger's steps Spark runs these; the others add up in 128 bits, in DuckDB alone (ADR 22).
OF_THE_LEDGER = ("ledger/candidate_accounts", "ledger/sealed_groups")
ON_SPARK = [
    path for path, step in CASES.items() if not step.startswith("ledger/") or step in OF_THE_LEDGER
]
# Rows that are told apart by where they are.
PLACED = ("raw_log", "raw_roster", "stg_log", "stg_roster")


def is_portable(step):
    from tasks.log.spark.portable import NotPortable, portable  # which needs the extra

    try:
        portable(step)
    except NotPortable:
        return False
    return True


def test_every_step_runs_on_spark_in_one_way():
    run_there = {CASES[path] for path in ON_SPARK}
    assert {s for s in run_there if not is_portable(s)} == BY_ROW.keys() | BY_GROUP.keys()


@pytest.mark.parametrize(
    "said",
    [
        "cast(t.x as bigint)", "cast(2.5 as bigint)", "cast(t.x as varchar)", "substr(t.x, 0, 2)",
        "substr(t.x, 2, -1)", "substr(t.x, 2)", "substr(t.x, t.y, 1)", "unnest(range(0, 10, 4))",
        "unnest(range(1, 3))", "list_sort(list(t.x))", "list(rowid)", "min_by(t.x, t.y)", "t.x[1]",
        "greatest(t.x, t.y)", "lower(t.x)", "regexp_replace(t.x, 'a', 'b')", "t.x like 'a%'",
    ],
)  # fmt: skip
def test_what_means_another_thing_on_spark_is_refused(said, tmp_path, monkeypatch):
    from tasks.log.spark import portable

    (tmp_path / "log").mkdir()
    (tmp_path / "log/step.sql").write_text(f"-- Grain: none.\nselect {said} as x from t")
    monkeypatch.setattr(portable, "SQL", tmp_path)
    portable.portable.cache_clear()
    with pytest.raises(portable.NotPortable, match="the same on Spark"):
        portable.portable("log/step")
    portable.portable.cache_clear()


@pytest.mark.parametrize("path", ON_SPARK, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_step(path, engine):
    case, step = tomllib.loads(path.read_text(encoding="utf-8")), CASES[path]
    for name, given in case["tables"].items():
        table = arrow_table(**given)
        if name in PLACED:
            table = table.append_column("rowid", pa.array(range(table.num_rows), pa.int64()))
        for place, field in enumerate(table.schema):
            if field.type == pa.uint64():  # as DuckDB's reader of files has it, which Spark has not
                table = table.set_column(place, field.name, table[field.name].cast(pa.int64()))
        engine.put(name, table)
    params, result = bound(case.get("params", {})), step.rpartition("/")[2]
    if step in BY_ROW:
        beside = [name for name in case["tables"] if name != BY_ROW[step]]
        engine.each_row(step, BY_ROW[step], beside=beside, **params)
    elif step in BY_GROUP:
        engine.each_group(step, *BY_GROUP[step], **params)
    else:
        engine.step(step, **params)
    found = engine.fetch(result)
    expected, is_ordered = arrow_table(**case["expected"]), case.get("ordered", False)
    assert found.column_names == expected.column_names
    assert readable(found, is_ordered) == readable(expected, is_ordered)
