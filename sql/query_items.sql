-- Grain: one row for each person and different query.
select distinct account, query as first_text, '' as second_text
from searches
where query <> ''
