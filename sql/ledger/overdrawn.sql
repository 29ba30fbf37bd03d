-- Grain: one row: how many people of a group would be above the cap.
select count(*) as n_people
from sealed
inner join spending on spending.account = sealed.account
where
    sealed.cohort = $cohort
    and not case
        when spending.rho = 0 then spending.epsilon <= $cap_epsilon and spending.delta <= $cap_delta
        else
            spending.epsilon <= $pure_epsilon
            and spending.delta <= $gaussian_delta
            and spending.rho <= $cap_rho
    end
