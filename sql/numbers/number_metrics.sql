-- Grain: one row, the quality of a log of numbers, for the gate that judges it before any charge.
-- A row whose time cannot be read may be of any epoch, so it is judged among all rows of the log;
-- the others are judged among those of the epoch: other weeks' files may lie beside.
with judged as (
    select
        count(*) as n_read,
        count(*) filter (reason = 'outside the epoch') as n_outside,
        count(*) filter (reason in ('no time', 'not a time')) as n_untimed,
        count(*) filter (reason not in ('outside the epoch', 'no time', 'not a time')) as n_bad,
        n_read - n_outside as n_inside
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

spelled as (
    select coalesce(sum(n_ids) filter (n_ids > 1) / nullif(sum(n_ids), 0), 0) as alike_id_share
    from (select count(*) as n_ids from folded_ids group by folded)
),

valued as (
    select
        count(*) as n_values,
        count(*) filter (is_clamped) as n_clamped
    from person_numbers
)

select
    n_inside + n_broken as n_rows,
    n_bad + n_untimed + n_broken as n_bad_rows,
    coalesce(
        (
            n_bad * coalesce((n_read + n_broken) / nullif(n_inside + n_broken, 0), 0)
            + n_untimed
            + n_broken
        ) / nullif(n_read + n_broken, 0),
        1
    ) as bad_row_share,
    coalesce(n_untimed / nullif(n_read + n_broken, 0), 0) as untimed_row_share,
    coalesce(n_outside / nullif(n_read + n_broken, 0), 0) as outside_epoch_share,
    n_members,
    n_active_members,
    alike_id_share,
    coalesce(n_largest / nullif(n_inside, 0), 0) as largest_member_share,
    coalesce(n_keyless / nullif(n_members, 0), 0) as keyless_member_share,
    n_values,
    n_clamped,
    coalesce(n_clamped / nullif(n_values, 0), 0) as clamped_share
from judged, broken, membership, spelled, valued
