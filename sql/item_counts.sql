-- Grain: one row for each item that enough participants hold, in no order.
select bounded_items.first_text, bounded_items.second_text, count(*) as n_users
from bounded_items
inner join sealed on sealed.account = bounded_items.account and sealed.cohort = $kind
group by bounded_items.first_text, bounded_items.second_text
having count(*) >= $first_threshold
