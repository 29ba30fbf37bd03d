-- Grain: one row for each member who serves in this epoch, with the group that they would join.
-- Hashes are compared as hexadecimal text, 16 digits of it, against limits of the same form.
with sided as (
    select
        person,
        account,
        epoch_hash,
        first_pick,
        case
            when $optin_by_hash then substr(person_hash, 1, 16) < $optin_below
            else is_optin or $everybody_opts_in
        end as is_optin
    from accounts
    where
        substr(person_hash, 17, 16) >= $slot_from
        and substr(person_hash, 17, 16) < $slot_below
)

select
    person,
    account,
    case
        when not is_optin then 'C'
        when substr(epoch_hash, 1, 16) < $headlist_below then 'S'
        else 'T'
    end as cohort,
    first_pick
from sided
where is_optin or not $optin_only
