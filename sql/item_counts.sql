-- Grain: one row for each item that enough participants hold, in no order.
select
    bounded_items.item // 4294967296 as first_number,
    bounded_items.item % 4294967296 as second_number,
    count(*) as n_users
from bounded_items
inner join sealed on sealed.account = bounded_items.account and sealed.cohort = $kind
group by bounded_items.item
having count(*) >= $first_threshold
