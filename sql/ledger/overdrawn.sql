-- Grain: one row: how many people of a group would be above the cap.
select count(*) as n_people
from sealed
inner join spending on spending.account = sealed.account
where
    sealed.cohort = $cohort
    and (spending.epsilon > $cap_epsilon or spending.delta > $cap_delta)
