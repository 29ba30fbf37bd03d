-- Grain: one row for each record that a candidate contributes: exactly max_records_optin of an
-- opt-in person (0: none), the same row several times if they have fewer; at most max_records_client
-- different rows of a client. All are picked among their own usable rows from a keyed start.
-- A person's own rows alone decide, so nobody else's data changes the choice.
with wanted as (
    select
        candidates.account,
        candidates.cohort = 'C' as is_client,
        candidates.first_pick,
        active_people.row_ids,
        active_people.n_usable,
        unnest(range(if(
            candidates.cohort = 'C',
            least(active_people.n_usable, $max_records_client),
            $max_records_optin
        ))) as unit
    from candidates
    inner join active_people on active_people.person = candidates.person
    where active_people.n_usable > 0
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
            ((unit + first_pick // n_usable) % $max_records_optin) * n_usable // $max_records_optin
        )) % n_usable) as row_id
    from wanted
)

select picked.account, picked.unit, stg_log.query, stg_log.url
from picked
inner join stg_log on stg_log.rowid = picked.row_id
