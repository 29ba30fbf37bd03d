-- Grain: one row for each key that has a result, in the order of the keys' texts.
select key, row_number() over (order by key) - 1 as number
from (select distinct key from candidates)
order by key
