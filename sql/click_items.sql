-- Grain: one row for each person and different click on a query that may be shown.
-- With $all_queries every query may; else those of `shown_queries`, which were published.
select distinct account, query as first_text, url as second_text
from searches
where
    query <> ''
    and url <> ''
    and ($all_queries or query in (select query from shown_queries))
