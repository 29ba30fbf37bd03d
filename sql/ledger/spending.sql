-- Grain: one row for each account that was ever charged, with its sum inside the window.
select
    participation.account,
    sum(charges.epsilon) as epsilon,
    sum(charges.delta) as delta,
    sum(charges.rho) as rho
from participation
inner join charges
    on charges.file = participation.file and charges.cohort = participation.cohort
group by participation.account
