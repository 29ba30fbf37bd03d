-- Grain: one row: how many accounts were written, how many of them have a sum that did not fit, and
-- what all of them have spent together.
select
    count(*) as n_accounts,
    count(*) filter (epsilon is null or delta is null or rho is null) as n_too_large,
    coalesce(sum(epsilon), 0) as epsilon,
    coalesce(sum(delta), 0) as delta,
    coalesce(sum(rho), 0) as rho
from sealed_sums
