-- Grain: one row for each pair of queries that enough participants hold, in no order.
select distinct
    first_query.text as first_text,
    second_query.text as second_text,
    item_counts.n_users
from item_counts
inner join numbered_queries as first_query on first_query.number = item_counts.first_number
inner join numbered_queries as second_query on second_query.number = item_counts.second_number
