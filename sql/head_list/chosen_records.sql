-- Grain: one row for each record that a candidate contributes: exactly max_records_optin of an
-- opt-in person (0: none), the same row several times if they have fewer; at most max_records_client
-- different rows of a client. All are picked among their own usable rows from a keyed start.
-- A person's own rows alone decide, so nobody else's data changes the choice.
with usable as (
    select person, list_sort(list(rowid)) as row_ids, count(*) as n_rows
    from stg_log
    where reason is null and url is not null
    group by person
),

wanted as (
    select
        candidates.account,
        candidates.cohort = 'C' as is_client,
        candidates.first_pick,
        usable.row_ids,
        usable.n_rows,
        unnest(range(if(
            candidates.cohort = 'C',
            least(usable.n_rows, $max_records_client),
            $max_records_optin
        ))) as unit
    from candidates
    inner join usable on usable.person = candidates.person
),

-- An opt-in person's units lie evenly around the circle of their rows, which is never less exact
-- than drawing each by chance; unit 0 is any of them, by chance.
picked as (
    select
        account,
        unit,
        list_extract(row_ids, 1 + (first_pick + if(
            is_client,
            unit,
            ((unit + first_pick // n_rows) % $max_records_optin) * n_rows // $max_records_optin
        )) % n_rows) as row_id
    from wanted
)

select picked.account, picked.unit, stg_log.query, stg_log.url
from picked
inner join stg_log on stg_log.rowid = picked.row_id
