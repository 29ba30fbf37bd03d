"""Where tiny tables cannot show it: several threads at work do not change who gives what."""

import duckdb

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
        engine = DuckDBEngine(connection)
        engine.step("head_list/chosen_records", max_records_optin=1, max_records_client=100)
        found = {int(row["query"]) for row in engine.fetch("chosen_records").to_pylist()}
    assert found == set(range(20, 220, 2))
