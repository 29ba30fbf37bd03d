-- Grain: one row for each person with a usable value in a column, and each such column.
-- `value` is the person's number, by the rule for the column; far outside of the limits it may be
-- a nearer one that is outside, too.
with cells as (
    select person, unnest(units) as unit, unnest(range(1, len(units) + 1)) as place
    from stg_log
    where reason is null
),

added as (
    select person, place, sum(unit) as total, max(unit) as largest, count(unit) as n_values
    from cells
    where unit is not null
    group by person, place
),

ruled as (
    select
        person,
        place,
        case $per_person[place]
            when 'count' then n_values
            when 'sum' then total
            when 'max' then largest
            -- Rounded down to a whole unit, a 65,536th of a step of any grid.
            when 'mean' then total // n_values
        end as units
    from added
),

valued as (
    select
        person,
        place,
        case
            when $per_person[place] = 'count' then cast(units as double)
            else cast(least(greatest(units, -4294967296), 8589934592) as double)
                / 4294967296 * $uppers[place]
        end as value
    from ruled
)

select *, value < 0 or value > $uppers[place] as is_clamped
from valued
