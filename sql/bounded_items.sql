-- Grain: one row for each item that a person contributes: at most $items_per_user different ones,
-- picked among their own from a keyed start. Their own items alone decide.
with starts as (
    select distinct account, first_pick from candidates
),

own as (
    select
        account,
        list_sort(list({'first_text': first_text, 'second_text': second_text})) as items
    from items
    group by account
)

select
    own.account,
    unnest(
        list_transform(
            range(least(len(own.items), $items_per_user)),
            lambda j: own.items[1 + (starts.first_pick + j) % len(own.items)]
        ),
        recursive := true
    )
from own
inner join starts on starts.account = own.account
