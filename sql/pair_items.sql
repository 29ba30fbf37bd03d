-- Grain: one row for each person and different pair of queries, one asked right after the other in
-- one session. A query that is asked again, or clicked twice, is no pair with itself.
with followed as (
    select
        person,
        query,
        searched_at,
        lag(query) over history as previous_query,
        lag(searched_at) over history as previous_at
    from searches
    where searched_at is not null
    window history as (partition by person order by searched_at, position)
)

select distinct person, previous_query * 4294967296 + query as item
from followed
where
    previous_query <> query
    and searched_at - previous_at <= to_minutes($session_gap_minutes)
