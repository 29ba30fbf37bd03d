-- Grain: one row for each line of the log that the reader could not split into its columns.
-- The person is read off all the same: membership is decided before any row is judged.
with named as (
    select
        file_id,
        line,
        lower(min(cast(error_type as varchar))) as reason,
        -- $field matches one column with the delimiter behind it.
        trim(
            regexp_extract_all(any_value(csv_line) || $delimiter, $field, 1)[$person_position], ' '
        ) as field
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
    file_id,
    line,
    reason,
    case
        when regexp_full_match(person, '[!-~]([ -~]*[!-~])?') then person  -- printable ASCII
        else canonical_id(person, $id_form)
    end as person
from unquoted
