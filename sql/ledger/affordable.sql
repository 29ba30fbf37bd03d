-- Grain: one row for each candidate and group whose account can pay for the release, all groups that
-- they would serve in together, and stay under its cap, and whose owner has not opted out.
with priced as (
    select
        candidates.account,
        candidates.cohort,
        sum(prices.epsilon) over whole_release as epsilon,
        sum(prices.delta) over whole_release as delta
    from candidates
    inner join prices on prices.cohort = candidates.cohort
    window whole_release as (partition by candidates.account)
)

select priced.account, priced.cohort
from priced
left join spending on spending.account = priced.account
where
    coalesce(spending.epsilon, 0) + priced.epsilon <= $cap_epsilon
    and coalesce(spending.delta, 0) + priced.delta <= $cap_delta
    and priced.account not in (select account from stopped_accounts)
order by priced.account, priced.cohort
