-- Grain: one row for each listed cell that records of a group fall on; other records have none.
-- A listed query with another url falls on that query's wildcard, whose url is null here.
with listed_queries as (
    select distinct query from listed
)

select cohort_records.query, listed.url, count(*) as n_records
from cohort_records
inner join listed_queries on listed_queries.query = cohort_records.query
left join listed
    on listed.query = cohort_records.query and listed.url = cohort_records.url
where cohort_records.cohort = $cohort
group by cohort_records.query, listed.url
