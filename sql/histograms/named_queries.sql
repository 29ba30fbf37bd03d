-- Grain: one row for each query, however many ways it was typed in.
select distinct number, text from numbered_queries
