-- Grain: one row for each group: how many people would serve in it if all of them can pay.
select cohort, count(*) as n_people
from candidates
group by cohort
