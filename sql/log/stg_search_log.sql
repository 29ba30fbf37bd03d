-- Grain: one row for each line of the log that has as many columns as its header.
-- `reason` says why a row cannot be used; it is null for good rows. Rows without a click stay.
-- Of a row outside the epoch nothing is kept but that it is there.
-- What looks at one column stands where that column comes from the file: values that a file lists
-- once are looked at once there.
with looked_at as (
    select
        cast(person as varchar) as person,
        query,
        optin,
        nullif(trim(url), '') as url,
        -- Printable ASCII, as whole numbers are, which files may hold as such.
        typeof(person) <> 'VARCHAR'
        or regexp_full_match(cast(person as varchar), '[!-~]([ -~]*[!-~])?') as is_plain_id,
        case
            when strlen(cast(person as varchar)) <= $max_id_bytes then false
            else strlen(trim(cast(person as varchar), ' ')) > $max_id_bytes
        end as has_long_id,
        searched_at is not null as has_time,
        -- Files may hold times as such. Other texts may say their time zone, which is slow, and
        -- which a plain timestamp forgets.
        case
            when typeof(searched_at) = 'TIMESTAMP' then try_cast(searched_at as timestamp)
            when cast(searched_at as varchar) like '____-__-__ __:__:__'
                then try_cast(searched_at as timestamp)
            else try_cast(searched_at as timestamptz) at time zone 'UTC'
        end as searched_at,
        -- A text that begins with a printable character has one, and trimming is slow.
        case
            when query >= '!' and query <= '~' then false
            else coalesce(trim(query), '') = ''
        end as is_empty,
        coalesce(strlen(query), 0) > $max_bytes as is_long_query,
        coalesce(strlen(trim(url)), 0) > $max_bytes as is_long_url,
        coalesce(contains(query, chr(0)), false) as has_zero_in_query,
        coalesce(contains(url, chr(0)), false) as has_zero_in_url
    from raw_log
),

typed as (
    select
        * exclude (person, optin, searched_at),
        case
            when has_long_id then null
            when is_plain_id then person
            else canonical_id(person, $id_form)
        end as person,
        -- A list of words after `in` would be joined, and rows that were joined lose their order.
        case
            when trim(optin) <> ''
                then regexp_full_match(lower(trim(optin)), '1|true|t|yes|y')
        end as optin,
        -- 'infinity' is a timestamp to the engine; to us it is no time.
        case when isfinite(searched_at) then searched_at end as searched_at
    from looked_at
),

placed as (
    select
        *,
        coalesce(
            searched_at < cast($epoch_start as timestamp)
            or searched_at >= cast($epoch_end as timestamp),
            false
        ) as is_outside
    from typed
)

select
    case when not is_outside then person end as person,
    case when not is_outside then query end as query,
    case when not is_outside then epoch_us(searched_at) end as microseconds,
    case when not is_outside then url end as url,
    case when not is_outside then optin end as optin,
    case
        when is_outside then 'outside the epoch'
        when has_long_id then 'id too long'
        when coalesce(person, '') = '' then 'no person'
        when has_zero_in_query or has_zero_in_url then 'zero byte'
        when not is_plain_id and contains(person, chr(0)) then 'zero byte'
        when is_long_query or is_long_url then 'too long'
        when $needs_time and not has_time then 'no time'
        when $needs_time and searched_at is null then 'not a time'
        when is_empty then 'empty query'
    end as reason
from placed
