-- Grain: one row for each click that enough participants hold, in no order.
select distinct
    numbered_queries.text as first_text,
    numbered_urls.text as second_text,
    item_counts.n_users
from item_counts
inner join numbered_queries on numbered_queries.number = item_counts.first_number
inner join numbered_urls on numbered_urls.number = item_counts.second_number
