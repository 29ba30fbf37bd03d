-- Grain: at most one row, the first line of the log where a quote opens that is never closed.
select file_id, line
from broken_lines
where has_open_quote
order by file_id, line
limit 1
