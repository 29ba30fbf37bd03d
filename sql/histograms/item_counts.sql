-- Grain: one row for each item that enough participants hold, in no order.
-- An item is a number: first * $n_second + second.
select
    picked_items.item // $n_second as first_number,
    picked_items.item % $n_second as second_number,
    count(*) as n_users
from picked_items
inner join people on people.number = picked_items.person
inner join sealed on sealed.account = people.account and sealed.cohort = $kind
group by picked_items.item
having count(*) >= $first_threshold
