-- Grain: one row for each person who was sealed into a group: their key's number, and their number
-- in one column. People without a value have 0: who takes part must not depend on what people do.
select
    result_keys.number as key,
    coalesce(person_numbers.value, 0.0) as value
from sealed
inner join candidates
    on candidates.account = sealed.account and candidates.cohort = sealed.cohort
inner join result_keys on result_keys.key = candidates.key
left join person_numbers
    on person_numbers.person = candidates.person and person_numbers.place = $place
where sealed.cohort = $cohort
-- In an order that does not depend on anybody's data.
order by sealed.account
