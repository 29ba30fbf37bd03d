-- Grain: one row for each record that somebody in S has, in an order that is not the log's: the sum of
-- the weights that it was given, of shares, and of what these add to the concentration.
with shared as (
    select
        own_records.query,
        own_records.url,
        if(own_records.place <= $most_records, weights.weight, 0) as weight,
        $share_units * own_records.n_rows // own_records.n_all as share
    from own_records
    inner join weights on weights.n_records = least(own_records.n_records, $most_records)
)

select
    query,
    url,
    cast(sum(weight) as bigint) as weight,
    cast(sum(share) as bigint) as share,
    cast(sum((share * share + 2 * $share_units) // (4 * $share_units)) as bigint) as concentration
from shared
group by query, url
order by query, url
