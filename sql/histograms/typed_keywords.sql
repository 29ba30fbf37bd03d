-- Grain: one row for each keyword of each query, as often as it is typed there.
select number as query, unnest(string_split(text, ' ')) as keyword
from named_queries
