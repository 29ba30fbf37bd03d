-- Grain: one row for each member who serves in this epoch and each group that they would join.
-- Keys of few people have no result, so nobody pays for one.
-- Hashes are compared as hexadecimal text, 16 digits of it, against limits of the same form.
with sided as (
    select
        accounts.person,
        accounts.account,
        member_keys.key,
        case
            when $optin_by_hash then substr(accounts.person_hash, 1, 16) < $optin_below
            else accounts.is_optin
        end as is_optin,
        count(*) over (partition by member_keys.key) as n_people
    from accounts
    inner join member_keys on member_keys.person = accounts.person
    where
        member_keys.key is not null
        and substr(accounts.person_hash, 17, 16) >= $slot_from
        and substr(accounts.person_hash, 17, 16) < $slot_below
)

select
    person,
    account,
    key,
    unnest(case when is_optin then $optin_groups else $client_groups end) as cohort
from sided
where n_people >= $min_people
