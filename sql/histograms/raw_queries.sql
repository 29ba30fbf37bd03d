-- Grain: one row for each different query of usable rows, as it was typed.
select distinct query as raw
from stg_log
where reason is null
