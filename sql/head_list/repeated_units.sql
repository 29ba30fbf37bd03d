-- Grain: one row in all: of the people of a group whose first unit is a listed record, how many
-- units, theirs alone, lie on that same record.
select count(*) as n_repeats
from cohort_records as first_unit
inner join listed on listed.query = first_unit.query and listed.url = first_unit.url
inner join cohort_records as same
    on
        same.account = first_unit.account
        and same.query = first_unit.query
        and same.url = first_unit.url
where first_unit.unit = 0 and first_unit.cohort = $cohort
