-- Grain: one row, the quality of a log of numbers, for the gate that judges it before any charge.
with judged as (
    select count(*) as n_read, count(*) filter (reason is not null) as n_bad
    from stg_log
),

broken as (
    select count(*) as n_broken from broken_lines
),

membership as (
    select
        count(*) as n_members,
        count(*) filter (members.n_rows > 0) as n_active_members,
        coalesce(max(members.n_rows), 0) as n_largest,
        count(*) filter (member_keys.key is null) as n_keyless
    from members
    inner join member_keys on member_keys.person = members.person
),

valued as (
    select
        count(*) as n_values,
        count(*) filter (value < 0 or value > $uppers[place]) as n_clamped
    from person_numbers
)

select
    n_read + n_broken as n_rows,
    n_bad + n_broken as n_bad_rows,
    coalesce((n_bad + n_broken) / nullif(n_read + n_broken, 0), 1) as bad_row_share,
    n_members,
    n_active_members,
    coalesce(n_largest / nullif(n_read, 0), 0) as largest_member_share,
    coalesce(n_keyless / nullif(n_members, 0), 0) as keyless_member_share,
    n_values,
    n_clamped,
    coalesce(n_clamped / nullif(n_values, 0), 0) as clamped_share
from judged, broken, membership, valued
