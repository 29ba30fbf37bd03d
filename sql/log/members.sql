-- Grain: one row for each member: every person that the log of the epoch names, whatever their rows
-- are worth. Rows outside the epoch name nobody; a row whose time cannot be read counts as inside.
select person, coalesce(is_optin, false) as is_optin, n_rows
from active_people
union all
-- Lines that could not be split into columns name people, too.
select distinct person, false as is_optin, cast(0 as bigint) as n_rows
from broken_lines
where person <> '' and person not in (select person from active_people)
