-- Grain: one row for each different record, as typed, of an opt-in candidate, and how often they had
-- it. The key decides later which of their records get weight.
select
    candidates.account,
    accounts.epoch_hash as record_key,
    stg_log.query,
    stg_log.url,
    count(*) as n_rows
from candidates
inner join accounts on accounts.account = candidates.account
inner join stg_log on stg_log.person = candidates.person
where candidates.cohort = 'S' and stg_log.reason is null and stg_log.url is not null
group by candidates.account, accounts.epoch_hash, stg_log.query, stg_log.url
