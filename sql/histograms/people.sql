-- Grain: one row for each person who may take part; the number only tells them apart.
with serving as (
    select distinct person, account, first_pick from candidates
)

select row_number() over (order by account) - 1 as number, person, account, first_pick
from serving
