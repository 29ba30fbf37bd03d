-- Grain: one row: which row of the roster is the first with a longer id than any person has; 0 if
-- none is.
with first_long as (
    select min(rowid) as row_id from stg_roster where has_long_id
)

select count(*) as n_rows
from stg_roster
inner join first_long on stg_roster.rowid <= first_long.row_id
