-- Grain: one row for each usable row of somebody who may take part, as numbers; url 0 is no click.
select
    people.number as person,
    stg_search_log.searched_at,
    stg_search_log.rowid as position,
    numbered_queries.number as query,
    coalesce(numbered_urls.number, 0) as url
from stg_search_log
inner join people on people.person = stg_search_log.person
inner join numbered_queries on numbered_queries.raw = stg_search_log.query
left join numbered_urls on numbered_urls.raw = stg_search_log.url
where stg_search_log.reason is null
