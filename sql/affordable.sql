-- Grain: one row for each candidate whose account can pay for the release and stay under its cap,
-- and whose owner has not opted out.
select candidates.account, candidates.cohort
from candidates
inner join prices on prices.cohort = candidates.cohort
left join spending on spending.account = candidates.account
where
    coalesce(spending.epsilon, 0) + prices.epsilon <= $cap_epsilon
    and coalesce(spending.delta, 0) + prices.delta <= $cap_delta
    and candidates.account not in (select account from stopped_accounts)
order by candidates.account
