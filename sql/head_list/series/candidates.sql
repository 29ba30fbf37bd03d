-- Grain: one row for each member and group that they would join in this week of a season. Everybody
-- who opted in is in S, every week; whoever has not taken part in the season yet is in J, too; clients
-- serve in their own week only. Without a roster whoever joined stays, seen this week or not. Whoever
-- has taken part on one side is not taken on the other until the season is over.
with sided as (
    select
        person,
        account,
        person_hash,
        first_pick,
        case
            when $optin_by_hash then substr(person_hash, 1, 16) < $optin_below
            else is_optin or $everybody_opts_in
        end as is_optin
    from accounts
),

joined as (
    select distinct account from season_participation where cohort = 'S'
),

reported as (
    select distinct account from season_participation where cohort = 'C'
),

members as (
    select person, account, first_pick
    from sided
    where is_optin and account not in (select account from reported)
    union all
    select cast(null as varchar) as person, joined.account, 0 as first_pick
    from joined
    where $stay_unseen and joined.account not in (select account from sided)
),

serving as (
    select person, account, first_pick, 'S' as cohort from members
    union all
    select person, account, first_pick, 'J' as cohort
    from members
    where account not in (select account from joined)
    union all
    select person, account, first_pick, 'C' as cohort
    from sided
    where
        not is_optin
        and not $optin_only
        and account not in (select account from joined)
        and substr(person_hash, 17, 16) >= $slot_from
        and substr(person_hash, 17, 16) < $slot_below
)

select person, account, cohort, first_pick
from serving
