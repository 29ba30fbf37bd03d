-- Grain: one row for each account, with its sum as 64 bits, or null where it does not fit; in order.
select
    account,
    try_cast(epsilon as bigint) as epsilon,
    try_cast(delta as bigint) as delta,
    try_cast(rho as bigint) as rho
from spending
order by account
