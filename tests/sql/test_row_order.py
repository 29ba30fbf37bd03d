"""Where tiny tables cannot show it: several threads at work do not change who gives what."""

import duckdb
import pytest

from tasks.log.duck.instances import start
from tasks.log.engine import DuckDBEngine

N_ROWS = 400_000  # four row groups, which is what DuckDB's threads share out


def test_records_are_chosen_in_the_logs_order():
    with duckdb.connect(config={"threads": 4}) as connection:
        connection.execute(
            "create table stg_log as "
            "select if(range % 2 = 0, 'p', range::varchar) as person, range::varchar as query, "
            "'u' as url, null as reason from range($n)",
            {"n": N_ROWS},
        )
        connection.execute(
            "create table candidates as "
            "select 'p' as person, 'a'::blob as account, 'C' as cohort, 10 as first_pick"
        )
        connection.execute("alter table stg_log add column optin boolean")
        engine = DuckDBEngine(connection)
        engine.step("head_list/active_people")
        engine.step("head_list/chosen_records", max_records_optin=1, max_records_client=100)
        found = {int(row["query"]) for row in engine.fetch("chosen_records").to_pylist()}
    assert found == set(range(20, 220, 2))


RULES = {"max_id_bytes": 1_000, "id_form": "nfc-trim-2"}
OF_A_LOG = {
    "max_bytes": 2_000, "epoch_start": "2026-11-09", "epoch_end": "2026-11-16", "needs_time": False,
}  # fmt: skip


@pytest.mark.parametrize(
    ("step", "rules"),
    [
        ("log/stg_search_log", RULES | OF_A_LOG),
        ("log/stg_roster", RULES | {"max_key_bytes": 1_000}),
    ],
)
@pytest.mark.parametrize("optin", ["null", "'yes'", "if(range % 3 = 0, 'y', '0')"])
def test_rows_are_staged_in_the_files_order(step, rules, optin, tmp_path):
    """Their places decide which records are chosen: a run that reads again must find the same."""
    path = tmp_path / "rows.parquet"
    with start(str(tmp_path), threads=4) as connection:
        connection.execute(
            "copy (select range::varchar as person, range::varchar as query, null as searched_at, "
            f"'u' as url, cast({optin} as varchar) as optin, null as key from range({N_ROWS})) "
            f"to '{path}' (format parquet)"
        )
        columns = (
            "person, query, searched_at::varchar as searched_at, url, optin, key::varchar as key"
        )
        for name in ("raw_log", "raw_roster"):
            connection.execute(
                f"create temp view {name} as select {columns} from read_parquet('{path}')"
            )
        DuckDBEngine(connection).step(step, into="staged", **rules)
        out_of_place = connection.execute(
            "select count(*) from staged where person <> cast(rowid as varchar)"
        ).fetchall()
    assert out_of_place == [(0,)]
