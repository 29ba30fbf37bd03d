-- Grain: one row for each raw text that means something, with the number of its normalised text.
-- Numbers are in the order of the texts: which of two texts comes first does not depend on others.
select raw, text, dense_rank() over (order by text) - 1 as number
from texts
where text <> ''
