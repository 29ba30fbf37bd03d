-- Grain: one row for each member: every person of the roster, with or without rows in the log.
with listed as (
    select person, bool_and(is_optin) as is_optin
    from stg_roster
    where coalesce(person, '') <> ''
    group by person
)

select listed.person, listed.is_optin, coalesce(active_people.n_rows, 0) as n_rows
from listed
left join active_people on active_people.person = listed.person
