-- Grain: one row: how many accounts have another sum in the sealed file than by participation files,
-- are in one of them only, or are in the sealed file twice.
with both_sides as (
    select account, epsilon, delta, rho, 1 as n_sealed from sealed_sums
    union all
    select account, epsilon, delta, rho, 0 as n_sealed from spending
)

select count(*) as n_people
from (
    select account
    from both_sides
    group by account
    having
        count(*) != 2
        or sum(n_sealed) != 1
        or min(epsilon) != max(epsilon)
        or min(delta) != max(delta)
        or min(rho) != max(rho)
) as differing
