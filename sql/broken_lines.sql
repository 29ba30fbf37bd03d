-- Grain: one row for each line of the log that the reader could not split into its columns.
-- The person is read off all the same: membership is decided before any row is judged.
select
    file_id,
    line,
    lower(min(cast(error_type as varchar))) as reason,
    -- $field matches one column with the delimiter behind it.
    trim(
        regexp_extract_all(any_value(csv_line) || $delimiter, $field, 1)[$person_position],
        ' ' || $quote
    ) as person,
    -- A quote that is not closed in its line takes other people's lines with it.
    bool_or(
        contains(rtrim(csv_line, chr(10) || chr(13)), chr(10))
        or (error_type = 'UNQUOTED VALUE' and contains(csv_line, chr(10)))
    ) as has_open_quote
from raw_log_errors
group by file_id, line
