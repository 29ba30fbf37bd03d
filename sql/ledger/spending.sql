-- Grain: one row for each account that was ever charged, with its sum inside the window: of charges
-- that were added up and sealed before, and of all others. The sealed ones are none of the others.
with prices_of_files as (
    select
        file,
        cohort,
        sum(epsilon) as epsilon,
        sum(delta) as delta,
        sum(rho) as rho
    from charges
    group by file, cohort
), charged as (
    select account, epsilon, delta, rho
    from sealed_sums
    union all
    select
        participation.account,
        prices_of_files.epsilon,
        prices_of_files.delta,
        prices_of_files.rho
    from participation
    inner join prices_of_files
        on prices_of_files.file = participation.file
        and prices_of_files.cohort = participation.cohort
)

select
    account,
    sum(epsilon) as epsilon,
    sum(delta) as delta,
    sum(rho) as rho
from charged
group by account
