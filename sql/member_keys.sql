-- Grain: one row for each member, with the key that their result belongs to; null if the roster
-- gives none, or several.
with listed as (
    select trim(person) as person, nullif(trim(key), '') as key
    from raw_keys
)

select
    members.person,
    case when count(distinct listed.key) = 1 and strlen(min(listed.key)) <= $max_bytes
        then min(listed.key) end as key
from members
left join listed on listed.person = members.person
group by members.person
