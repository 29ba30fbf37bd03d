-- Grain: one row for each different record of a participant of S, normalised: how many of their
-- rows it is, of how many, and its place among their records in an order that a key decides. Their
-- own records alone decide, so nobody else's data changes what they give.
with own as (
    select
        searches.account,
        searches.record_key,
        searches.query,
        searches.url,
        cast(sum(searches.n_rows) as bigint) as n_rows,
        -- Rows without a text after normalisation are searches, too: they count as <*,*>.
        cast(sum(sum(searches.n_rows)) over (partition by searches.account) as bigint) as n_all
    from searches
    inner join sealed on sealed.account = searches.account
    where sealed.cohort = 'S'
    group by searches.account, searches.record_key, searches.query, searches.url
)

select
    account,
    query,
    url,
    n_rows,
    n_all,
    count(*) over (partition by account) as n_records,
    row_number() over (
        partition by account
        order by sha256(record_key || sha256(query) || sha256(url)), query, url
    ) as place
from own
where query <> '' and url <> ''
