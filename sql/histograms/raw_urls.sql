-- Grain: one row for each different clicked url of usable rows, as it was logged.
select distinct url as raw
from stg_log
where reason is null and url is not null
