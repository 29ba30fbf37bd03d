-- Grain: one row: whose records `cohort_records` holds, as the ledger knows them.
select $participation as participation, cast($attempt as bigint) as attempt
