-- Grain: one row for each usable row of somebody who may take part, as numbers; url -1 is no click.
-- A person's rows stand together, in the order of time; a log without times has its own order.
select
    people.number as person,
    -- Rounded down, before 1970, too: what is left of a division has the sign of the whole.
    coalesce(
        (
            stg_log.microseconds
            - (stg_log.microseconds % 1000000 + 1000000) % 1000000
        ) // 1000000,
        0
    ) as seconds,
    numbered_queries.number as query,
    coalesce(numbered_urls.number, -1) as url
from stg_log
inner join people on people.person = stg_log.person
inner join numbered_queries on numbered_queries.raw = stg_log.query
left join numbered_urls on numbered_urls.raw = stg_log.url
where stg_log.reason is null
order by people.number, stg_log.microseconds, stg_log.rowid
