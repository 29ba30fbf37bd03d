-- Grain: one row for each earlier week of the season whose draw had begun when groups were chosen.
select release_id, attempt from begun_weeks
