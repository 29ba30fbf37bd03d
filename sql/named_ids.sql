-- Grain: one row for each different id in the log of the epoch or among the members.
select person from members
union
select person from stg_log where coalesce(person, '') <> ''
union
select person from broken_lines where coalesce(person, '') <> ''
