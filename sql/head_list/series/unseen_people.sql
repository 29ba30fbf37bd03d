-- Grain: one row: how many of S the week's log does not name. They joined in an earlier week.
select count(*) as n_unseen
from sealed
where cohort = 'S' and account not in (select account from accounts)
