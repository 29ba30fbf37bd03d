-- Grain: one row for each candidate and group whose account can pay for the release, all groups that
-- they would serve in together, and stay under its cap, and whose owner has not opted out.
with priced as (
    select
        candidates.account,
        candidates.cohort,
        sum(prices.epsilon) over whole_release as epsilon,
        sum(prices.delta) over whole_release as delta,
        sum(prices.rho) over whole_release as rho
    from candidates
    inner join prices on prices.cohort = candidates.cohort
    window whole_release as (partition by candidates.account)
), totals as (
    select
        priced.account,
        priced.cohort,
        coalesce(spending.epsilon, 0) + priced.epsilon as epsilon,
        coalesce(spending.delta, 0) + priced.delta as delta,
        coalesce(spending.rho, 0) + priced.rho as rho
    from priced
    left join spending on spending.account = priced.account
)

-- Whoever has a Gaussian loss has a part of the cap for each kind of loss (docs/proofs/cap.md).
select account, cohort
from totals
where
    case
        when rho = 0 then epsilon <= $cap_epsilon and delta <= $cap_delta
        else epsilon <= $pure_epsilon and delta <= $gaussian_delta and rho <= $cap_rho
    end
    and account not in (select account from stopped_accounts)
order by account, cohort
