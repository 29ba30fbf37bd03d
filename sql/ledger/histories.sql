-- Grain: one row for each set of groups that somebody has served in; few, however many people.
with served as (
    select
        participation.account,
        list_sort(list(places.place)) as history
    from participation
    inner join places
        on places.file = participation.file and places.cohort = participation.cohort
    group by participation.account
)

select distinct history from served
