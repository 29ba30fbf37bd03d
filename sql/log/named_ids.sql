-- Grain: one row for each different id in the log of the epoch or among the members.
select person from members
union all
-- Without a roster, members are all of these.
select others.person
from (
    select person from active_people where $has_roster
    union
    select person from broken_lines where $has_roster and person <> ''
) as others
left join members on members.person = others.person
where members.person is null
