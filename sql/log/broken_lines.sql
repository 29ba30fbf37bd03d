-- Grain: one row for each line of the log that the reader could not split into its columns.
-- The person is read off all the same, for membership is decided before any row is judged; but only
-- if their column is the file's first: a delimiter that somebody typed into a text before it would
-- put any word into its place. Else the line is nobody's.
with named as (
    select
        file_id,
        line,
        lower(min(cast(error_type as varchar))) as reason,
        -- $field matches the first column with the delimiter behind it. The reader leaves ends of
        -- other lines in front of a line: the half of a CRLF, and empty lines.
        case
            when $is_person_first
                then trim(
                    regexp_extract(
                        ltrim(any_value(csv_line), chr(13) || chr(10)) || $delimiter, $field, 1
                    ),
                    ' '
                )
        end as field
    from raw_log_errors
    group by file_id, line
),

unquoted as (
    select
        file_id,
        line,
        reason,
        case
            when $quote <> '' and starts_with(field, $quote)
                then replace(substr(field, 2, length(field) - 2), $quote || $quote, $quote)
            else field
        end as person
    from named
)

select
    cast(file_id as bigint) as file_id,
    cast(line as bigint) as line,
    reason,
    case
        when strlen(trim(person, ' ')) > $max_id_bytes then null
        when regexp_full_match(person, '[!-~]([ -~]*[!-~])?') then person  -- printable ASCII
        else canonical_id(person, $id_form)
    end as person
from unquoted
