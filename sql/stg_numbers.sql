-- Grain: one row for each line of the log that has as many columns as its header.
-- `reason` says why a row cannot be used; it is null for good rows. `units` has a whole number for
-- each column, null where it is empty: 1 if values are counted, else 2^32 for the column's upper
-- limit. Whole numbers add up to the same whatever their order is, so nobody else's rows change a
-- person's sum in its last digit.
with cleaned as (
    select
        trim(person) as person,
        optin,
        list_transform(numbers, lambda number: nullif(trim(number), '')) as texts
    from raw_log
),

typed as (
    select
        *,
        list_transform(texts, lambda word, i:
            case when $is_counted[i] and word is not null then 1 else try_cast(word as double) end
        ) as numbers
    from cleaned
)

select
    person,
    optin,
    list_transform(numbers, lambda number, i:
        case
            when number is null then null  -- which least and greatest would take for their limits
            when $is_counted[i] then cast(number as bigint)
            -- A row of more than 1,024 times the limit counts as that, which labels say.
            else cast(
                round(least(greatest(number / $uppers[i], -1024), 1024) * 4294967296) as bigint
            )
        end
    ) as units,
    case
        when coalesce(person, '') = '' then 'no person'
        when contains(person, chr(0)) then 'zero byte'
        when len(list_filter(texts, lambda word, i:
            word is not null and not coalesce(isfinite(numbers[i]), false)
        )) > 0 then 'not a number'
    end as reason
from typed
