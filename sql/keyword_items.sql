-- Grain: one row for each person and different keyword of their queries.
with asked as (
    select distinct account, query from searches where query <> ''
),

typed as (
    select account, unnest(string_split(query, ' ')) as keyword from asked
)

select distinct account, keyword as first_text, '' as second_text
from typed
