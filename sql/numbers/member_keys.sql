-- Grain: one row for each member, with the key that their result belongs to; null if the roster
-- gives none, or several.
select
    members.person,
    case when count(distinct stg_roster.key) = 1 and strlen(min(stg_roster.key)) <= $max_bytes
        then min(stg_roster.key) end as key
from members
left join stg_roster on stg_roster.person = members.person
group by members.person
