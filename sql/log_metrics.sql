-- Grain: one row, the quality of the whole log, for the gate that judges it before any charge.
with judged as (
    select
        count(*) as n_read,
        count(*) filter (reason is not null and reason <> 'empty query') as n_bad,
        count(*) filter (reason = 'empty query') as n_empty,
        count(url) as n_clicks,
        count(distinct query) as n_queries,
        count(*) filter (searched_at > cast($now as timestamp)) as n_future,
        date_diff('day', min(searched_at), max(searched_at)) as span_days
    from stg_log
),

broken as (
    select count(*) as n_broken from broken_lines
),

membership as (
    select
        count(*) as n_members,
        count(*) filter (n_rows > 0) as n_active_members,
        coalesce(max(n_rows), 0) as n_largest
    from members
)

select
    n_read + n_broken as n_rows,
    n_bad + n_broken as n_bad_rows,
    coalesce((n_bad + n_broken) / nullif(n_read + n_broken, 0), 1) as bad_row_share,
    n_members,
    n_active_members,
    coalesce(n_empty / nullif(n_read, 0), 0) as empty_query_share,
    coalesce(n_clicks / nullif(n_read, 0), 0) as click_share,
    coalesce(n_largest / nullif(n_read, 0), 0) as largest_member_share,
    least(coalesce(n_queries / nullif(n_read, 0), 0), 1) as distinct_query_share,
    span_days,
    coalesce(n_future / nullif(n_read, 0), 0) as future_row_share
from judged, broken, membership
