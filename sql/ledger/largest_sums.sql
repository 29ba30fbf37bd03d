-- Grain: one row: how many accounts were charged, and the largest sum of each kind among them.
select
    count(*) as n_accounts,
    coalesce(max(epsilon), 0) as epsilon,
    coalesce(max(delta), 0) as delta,
    coalesce(max(rho), 0) as rho
from spending
