-- Grain: one row for each person that rows of the epoch name, whatever the rows are worth. `is_optin`
-- is null if no row says anything of it, else true only if every row that does says so.
select person, bool_and(optin) as is_optin, count(*) as n_rows
from stg_log
where person <> ''
group by person
