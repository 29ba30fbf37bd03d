-- Grain: one row for each line of the log that the reader could not split into its columns.
-- The person is read off all the same: membership is decided before any row is judged.
select
    file_id,
    line,
    lower(min(cast(error_type as varchar))) as reason,
    trim(split_part(any_value(csv_line), $delimiter, $person_position), ' "') as person
from reject_errors
group by file_id, line
