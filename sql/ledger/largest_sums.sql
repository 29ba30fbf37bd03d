-- Grain: one row for all accounts without a Gaussian loss and one for all with one, if there are such:
-- how many they are, and the largest sum of each kind among them.
with kinds as (
    select
        count(*) as n_accounts,
        max(epsilon) as epsilon,
        max(delta) as delta,
        max(rho) as rho
    from spending
    group by rho > 0
)

select *
from kinds
order by rho
