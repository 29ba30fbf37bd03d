-- Grain: at most one row, the first line of the roster that the reader could not split into its
-- columns.
select file_id, line
from raw_roster_errors
order by file_id, line
limit 1
