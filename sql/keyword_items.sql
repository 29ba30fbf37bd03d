-- Grain: one row for each person and different keyword of their queries.
with asked as (
    select distinct person, query from searches
)

select distinct asked.person, keywords_of_queries.keyword * 4294967296 as item
from asked
inner join keywords_of_queries on keywords_of_queries.query = asked.query
