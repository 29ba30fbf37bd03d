-- Grain: one row for each usable row of somebody who may take part, with the person's account.
with serving as (
    select distinct person, account from candidates
)

select
    serving.account,
    stg_search_log.searched_at,
    stg_search_log.rowid as position,
    stg_search_log.query,
    coalesce(stg_search_log.url, '') as url
from stg_search_log
inner join serving on serving.person = stg_search_log.person
where stg_search_log.reason is null
