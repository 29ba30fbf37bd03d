-- Grain: at most one row, the first row of the roster with a longer id than any person has.
select rowid + 1 as n_rows
from stg_roster
where has_long_id
order by rowid
limit 1
