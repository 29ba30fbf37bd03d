-- Grain: one row for each group: how many would serve, how many can pay, and the least spent of
-- those who cannot.
select
    candidates.cohort,
    count(*) as n_candidates,
    count(affordable.account) as n_affordable,
    min_by(
        candidates.account,
        struct_pack(
            e := coalesce(spending.epsilon, 0),
            d := coalesce(spending.delta, 0),
            r := coalesce(spending.rho, 0),
            a := candidates.account
        )
    ) filter (affordable.account is null) as poorest
from candidates
left join affordable
    on affordable.account = candidates.account and affordable.cohort = candidates.cohort
left join spending on spending.account = candidates.account
where candidates.account not in (select account from stopped_accounts)
group by candidates.cohort
