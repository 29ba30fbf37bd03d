-- Grain: one row for each different keyword, numbered in the order of their texts.
with different as (
    select distinct keyword from typed_keywords
)

select keyword, row_number() over (order by keyword) - 1 as number
from different
