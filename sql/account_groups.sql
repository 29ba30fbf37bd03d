-- Grain: one row for each participation file that names one account.
select file, cohort from participation where account = $account
