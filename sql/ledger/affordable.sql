-- Grain: one row for each candidate and group whose account can pay for the release, all groups that
-- they would serve in together, and stay under its cap, and whose owner has not opted out.
with priced as (
    select
        candidates.account,
        sum(prices.epsilon) as epsilon,
        sum(prices.delta) as delta,
        sum(prices.rho) as rho
    from candidates
    inner join prices on prices.cohort = candidates.cohort
    group by candidates.account
),

totals as (
    select
        priced.account,
        coalesce(spending.epsilon, 0) + priced.epsilon as epsilon,
        coalesce(spending.delta, 0) + priced.delta as delta,
        coalesce(spending.rho, 0) + priced.rho as rho
    from priced
    left join spending on spending.account = priced.account
),

-- Whoever has a Gaussian loss has a part of the cap for each kind of loss (docs/proofs/cap.md).
admitted as (
    select account
    from totals
    where
        case
            when rho = 0 then epsilon <= $cap_epsilon and delta <= $cap_delta
            else epsilon <= $pure_epsilon and delta <= $gaussian_delta and rho <= $cap_rho
        end
        and account not in (select account from stopped_accounts)
)

select candidates.account, candidates.cohort
from candidates
inner join admitted on admitted.account = candidates.account
inner join prices on prices.cohort = candidates.cohort
order by candidates.account, candidates.cohort
