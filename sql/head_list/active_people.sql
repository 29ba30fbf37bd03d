-- Grain: as of log/active_people; with the places of a person's usable rows, in the log's order. They
-- are collected here because finding each person's rows a second time takes longer than all else
-- that is done with them.
with grouped as (
    select
        person,
        bool_and(optin) as is_optin,
        count(*) as n_rows,
        count(*) filter (reason is null and url is not null) as n_usable,
        list_sort(list(rowid) filter (reason is null and url is not null)) as row_ids
    from stg_log
    where person <> ''
    group by person
)

select
    person,
    is_optin,
    n_rows,
    n_usable,
    case when n_usable > 0 then row_ids end as row_ids
from grouped
