-- Grain: one row for each record that a candidate contributes: one of an opt-in person, at most
-- max_records_client of a client, picked among their own usable rows from a keyed start.
-- A person's own rows alone decide, so nobody else's data changes the choice.
with usable as (
    select person, list_sort(list(rowid)) as row_ids
    from stg_search_log
    where reason is null and url is not null
    group by person
),

picked as (
    select
        candidates.account,
        unnest(list_transform(
            range(least(
                len(usable.row_ids), if(candidates.cohort = 'C', $max_records_client, 1)
            )),
            lambda j: usable.row_ids[1 + (candidates.first_pick + j) % len(usable.row_ids)]
        )) as row_id
    from candidates
    inner join usable on usable.person = candidates.person
)

select picked.account, stg_search_log.query, stg_search_log.url
from picked
inner join stg_search_log on stg_search_log.rowid = picked.row_id
