-- Grain: one row for each member: every person of the roster, with or without rows in the log.
with listed as (
    select
        trim(person) as person,
        bool_and(coalesce(lower(trim(optin)) in ('1', 'true', 't', 'yes', 'y'), false)) as is_optin
    from raw_roster
    where coalesce(trim(person), '') <> ''
    group by trim(person)
),

active as (
    select person, count(*) as n_rows from stg_log where person is not null group by person
)

select listed.person, listed.is_optin, coalesce(active.n_rows, 0) as n_rows
from listed
left join active on active.person = listed.person
