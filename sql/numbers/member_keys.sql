-- Grain: one row for each member, with the key that their result belongs to; null if the roster
-- gives none, or several, or one that is too long.
select
    members.person,
    case
        when count(distinct stg_roster.key) = 1 and not bool_or(stg_roster.has_long_key)
            then min(stg_roster.key)
    end as key
from members
left join stg_roster on stg_roster.person = members.person
group by members.person
