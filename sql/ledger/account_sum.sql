-- Grain: one row: what one account has spent inside the window; nothing if it was never charged.
select
    coalesce(sum(epsilon), 0) as epsilon,
    coalesce(sum(delta), 0) as delta,
    coalesce(sum(rho), 0) as rho
from spending
where account = $account
