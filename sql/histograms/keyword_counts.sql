-- Grain: one row for each keyword that enough participants hold, in no order.
select numbered_keywords.keyword as first_text, '' as second_text, item_counts.n_users
from item_counts
inner join numbered_keywords on numbered_keywords.number = item_counts.first_number
