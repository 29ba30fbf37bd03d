-- Grain: one row for each item that a person contributes: at most $items_per_user different ones,
-- picked from a keyed start among their own in the order of texts, and round again from the first.
-- Their own items alone decide.
with placed as (
    select
        person,
        item,
        row_number() over (partition by person order by item) - 1 as place,
        count(*) over (partition by person) as n_items
    from items
)

select people.account, placed.item
from placed
inner join people on people.number = placed.person
where
    (placed.place - people.first_pick % placed.n_items + placed.n_items) % placed.n_items
    < $items_per_user
