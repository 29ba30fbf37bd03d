-- Grain: one row for each line of the log that has as many columns as its header.
-- `reason` says why a row cannot be used; it is null for good rows. Of a row outside the epoch
-- nothing is kept but that it is there. `units` has a whole number for each column, null where it
-- is empty: 1 if values are counted, else 2^32 for the column's upper limit. Whole numbers add up
-- to the same whatever their order is, so nobody else's rows change a person's sum in its last
-- digit.
with spelled as (
    -- Files may hold whole numbers, and times, as such.
    select * replace (cast(person as varchar) as person)
    from raw_log
),

cleaned as (
    select
        case
            when strlen(trim(person, ' ')) > $max_id_bytes then null
            when regexp_full_match(person, '[!-~]([ -~]*[!-~])?') then person  -- printable ASCII
            else canonical_id(person, $id_form)
        end as person,
        case
            when trim(optin) <> ''
                then regexp_full_match(lower(trim(optin)), '1|true|t|yes|y')
        end as optin,
        -- Other texts may say their time zone, which is slow, and which a plain timestamp forgets.
        case
            when typeof(searched_at) = 'TIMESTAMP' then try_cast(searched_at as timestamp)
            when cast(searched_at as varchar) like '____-__-__ __:__:__'
                then try_cast(searched_at as timestamp)
            else try_cast(searched_at as timestamptz) at time zone 'UTC'
        end as searched_at,
        searched_at is not null as has_time,
        strlen(trim(person, ' ')) > $max_id_bytes as has_long_id,
        list_transform(numbers, lambda number: nullif(trim(number), '')) as texts
    from spelled
),

-- 'infinity' is a timestamp to the engine; to us it is no time.
timed as (
    select
        * exclude (searched_at),
        case when isfinite(searched_at) then searched_at end as searched_at
    from cleaned
),

typed as (
    select
        *,
        coalesce(
            searched_at < cast($epoch_start as timestamp)
            or searched_at >= cast($epoch_end as timestamp),
            false
        ) as is_outside,
        list_transform(texts, lambda word, i:
            case when $is_counted[i] and word is not null then 1 else try_cast(word as double) end
        ) as numbers
    from timed
)

select
    case when not is_outside then person end as person,
    case when not is_outside then optin end as optin,
    case when not is_outside then list_transform(numbers, lambda number, i:
        case
            when number is null then null  -- which least and greatest would take for their limits
            when $is_counted[i] then cast(number as bigint)
            -- A row of more than 1,024 times the limit counts as that, which labels say.
            else cast(
                round(least(greatest(number / $uppers[i], -1024), 1024) * 4294967296) as bigint
            )
        end
    ) end as units,
    case
        when is_outside then 'outside the epoch'
        when has_long_id then 'id too long'
        when coalesce(person, '') = '' then 'no person'
        when contains(person, chr(0)) then 'zero byte'
        when $needs_time and not has_time then 'no time'
        when $needs_time and searched_at is null then 'not a time'
        when len(list_filter(texts, lambda word, i:
            word is not null and not coalesce(isfinite(numbers[i]), false)
        )) > 0 then 'not a number'
    end as reason
from typed
