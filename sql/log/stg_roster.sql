-- Grain: one row for each line of the roster; `key` says which result the person belongs to.
select
    case
        when strlen(trim(person, ' ')) > $max_id_bytes then null
        when regexp_full_match(person, '[!-~]([ -~]*[!-~])?') then person  -- printable ASCII
        else canonical_id(person, $id_form)
    end as person,
    coalesce(regexp_full_match(lower(trim(optin)), '1|true|t|yes|y'), false) as is_optin,
    nullif(trim(key), '') as key,
    coalesce(strlen(trim(person, ' ')) > $max_id_bytes, false) as has_long_id,
    coalesce(strlen(trim(key)) > $max_key_bytes, false) as has_long_key
from raw_roster
