-- Grain: one row for each line of the log that has as many columns as its header.
-- `reason` says why a row cannot be used; it is null for good rows. Rows without a click stay.
with typed as (
    select
        trim(person) as person,
        query,
        try_cast(searched_at as timestamp) as searched_at,
        nullif(trim(url), '') as url,
        optin,
        searched_at is not null as has_time
    from raw_log
),

-- 'infinity' is a timestamp to the engine; to us it is no time.
timed as (
    select
        * exclude (searched_at),
        case when isfinite(searched_at) then searched_at end as searched_at
    from typed
)

select
    person,
    query,
    searched_at,
    url,
    optin,
    case
        when coalesce(person, '') = '' then 'no person'
        when contains(concat(person, query, url), chr(0)) then 'zero byte'
        when strlen(query) > $max_bytes or strlen(url) > $max_bytes then 'too long'
        when $needs_time and not has_time then 'no time'
        when $needs_time and searched_at is null then 'not a time'
        when coalesce(trim(query), '') = '' then 'empty query'
    end as reason
from timed
