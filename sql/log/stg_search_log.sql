-- Grain: one row for each line of the log that has as many columns as its header.
-- `reason` says why a row cannot be used; it is null for good rows. Rows without a click stay.
-- Of a row outside the epoch nothing is kept but that it is there.
with typed as (
    select
        case
            when strlen(trim(person, ' ')) > $max_id_bytes then null
            when regexp_full_match(person, '[!-~]([ -~]*[!-~])?') then person  -- printable ASCII
            else canonical_id(person, $id_form)
        end as person,
        query,
        -- Other times may say their time zone, which is slow, and which a plain timestamp forgets.
        case
            when searched_at like '____-__-__ __:__:__' then try_cast(searched_at as timestamp)
            else try_cast(searched_at as timestamptz) at time zone 'UTC'
        end as searched_at,
        nullif(trim(url), '') as url,
        -- A list of words after `in` would be joined, and rows that were joined lose their order.
        case
            when trim(optin) <> ''
                then regexp_full_match(lower(trim(optin)), '1|true|t|yes|y')
        end as optin,
        searched_at is not null as has_time,
        strlen(trim(person, ' ')) > $max_id_bytes as has_long_id
    from raw_log
),

-- 'infinity' is a timestamp to the engine; to us it is no time.
timed as (
    select
        * exclude (searched_at),
        case when isfinite(searched_at) then searched_at end as searched_at
    from typed
),

placed as (
    select
        *,
        coalesce(
            searched_at < cast($epoch_start as timestamp)
            or searched_at >= cast($epoch_end as timestamp),
            false
        ) as is_outside
    from timed
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
        when contains(concat(person, query, url), chr(0)) then 'zero byte'
        when strlen(query) > $max_bytes or strlen(url) > $max_bytes then 'too long'
        when $needs_time and not has_time then 'no time'
        when $needs_time and searched_at is null then 'not a time'
        when coalesce(trim(query), '') = '' then 'empty query'
    end as reason
from placed
