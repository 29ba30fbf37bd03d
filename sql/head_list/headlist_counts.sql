-- Grain: one row for each record that somebody in S holds, in an order that is not the log's.
select query, url, count(*) as n_units
from cohort_records
where cohort = 'S'
group by query, url
order by query, url
