-- Grain: one row for each candidate and group that they would serve in, as the ledger asks for them.
select account, cohort from candidates
