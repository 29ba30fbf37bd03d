-- Grain: one row for each line of the log that was left out, with the reason and no value; lines
-- of other epochs are only counted: a folder may have years of them.
-- `line` is the line in the file, `row_id` the position among the rows that were read.
select file_id, line, cast(null as bigint) as row_id, reason
from broken_lines

union all

select cast(null as bigint) as file_id, cast(null as bigint) as line, rowid as row_id, reason
from stg_log
where reason <> 'outside the epoch'
