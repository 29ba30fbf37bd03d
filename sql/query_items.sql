-- Grain: one row for each person and different query.
-- An item is a number: first text * 2^32 + second text, so that items are in the order of texts.
select distinct person, query * 4294967296 as item
from searches
