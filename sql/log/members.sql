-- Grain: one row for each member: every person that the log of the epoch names, whatever their rows
-- are worth. Rows outside the epoch name nobody; a row whose time cannot be read counts as inside.
with named as (
    select person, optin, 1 as n_rows from stg_log
    union all
    select person, cast(null as boolean) as optin, 0 as n_rows from broken_lines
)

select
    person,
    -- Opted in only if every row that says something says so.
    coalesce(bool_and(optin), false) as is_optin,
    cast(sum(n_rows) as bigint) as n_rows
from named
where coalesce(person, '') <> ''
group by person
