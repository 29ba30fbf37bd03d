-- Grain: one row for each participation file that names one account, and group in it.
select file, cohort from participation where account = $account
