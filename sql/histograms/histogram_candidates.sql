-- Grain: one row for each member who serves in this epoch and each histogram that they serve in.
select
    accounts.person,
    accounts.account,
    kinds.kind as cohort,
    accounts.first_pick
from accounts
cross join kinds
where
    (accounts.is_optin or $everybody_opts_in)
    and substr(accounts.person_hash, 17, 16) >= $slot_from
    and substr(accounts.person_hash, 17, 16) < $slot_below
