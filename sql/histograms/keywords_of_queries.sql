-- Grain: one row for each keyword of each query, as often as it is typed there, as numbers.
select typed_keywords.query, numbered_keywords.number as keyword
from typed_keywords
inner join numbered_keywords on numbered_keywords.keyword = typed_keywords.keyword
