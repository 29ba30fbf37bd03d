-- Grain: one row for each member, with the account and the keyed hashes that decide for them.
-- HMAC-SHA256 (RFC 2104) from a plain SHA-256; the padded keys come in as a table.
with hashed as (
    select
        members.person,
        members.is_optin,
        unhex(left(
            sha256(account_outer || unhex(sha256(account_inner || encode(members.person)))), 32
        )) as account,
        -- Stable for life: opting in by hash, and the rotation slot.
        sha256(
            cohort_outer || unhex(sha256(cohort_inner || encode('person/' || members.person)))
        ) as person_hash,
        -- New in every epoch: finding or measuring, and where to start among one's records.
        sha256(
            cohort_outer
            || unhex(sha256(cohort_inner || encode('epoch/' || $context || '/' || members.person)))
        ) as epoch_hash
    from members
    cross join secrets
)

select *, cast('0x' || substr(epoch_hash, 17, 12) as bigint) as first_pick
from hashed
