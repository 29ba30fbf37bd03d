-- Grain: one row for each query of the log that was published.
select distinct numbered_queries.number
from numbered_queries
inner join shown_queries on shown_queries.query = numbered_queries.text
