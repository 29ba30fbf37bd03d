-- Grain: one row for each person and different click on a query that may be shown.
-- With $all_queries every query may; else those of `shown_queries`, which were published.
with shown as (
    select distinct numbered_queries.number
    from numbered_queries
    inner join shown_queries on shown_queries.query = numbered_queries.text
)

select distinct person, query * 4294967296 + url as item
from searches
where
    url > 0
    and ($all_queries or query in (select number from shown))
