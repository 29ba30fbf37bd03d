-- Grain: one row: how many people, different queries and different urls there are.
select
    (select count(*) from people) as n_people,
    (select coalesce(max(number) + 1, 0) from numbered_queries) as n_queries,
    (select coalesce(max(number) + 1, 0) from numbered_urls) as n_urls
