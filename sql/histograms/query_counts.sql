-- Grain: one row for each query that enough participants hold, in no order.
select distinct numbered_queries.text as first_text, '' as second_text, item_counts.n_users
from item_counts
inner join numbered_queries on numbered_queries.number = item_counts.first_number
