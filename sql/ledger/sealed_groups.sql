-- Grain: one row for each group: how many of the people sealed into it the log's tables hold.
select sealed.cohort, count(*) as n_people
from sealed
inner join candidates
    on candidates.account = sealed.account and candidates.cohort = sealed.cohort
group by sealed.cohort
