-- Grain: one row for each keyword of each query, as often as it is typed there.
with named as (
    select distinct number, text from numbered_queries
)

select number as query, unnest(string_split(text, ' ')) as keyword
from named
