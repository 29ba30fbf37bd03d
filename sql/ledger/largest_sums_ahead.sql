-- Grain: as of largest_sums, of those accounts alone that are in no participation file of some weeks:
-- the season of these weeks has charged them nothing yet.
with ahead as (
    select *
    from spending
    where account not in (select account from participation)
), kinds as (
    select
        count(*) as n_accounts,
        max(epsilon) as epsilon,
        max(delta) as delta,
        max(rho) as rho
    from ahead
    group by rho > 0
)

select *
from kinds
order by rho
