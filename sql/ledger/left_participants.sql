-- Grain: one row for each account that was to take part and has left since.
select distinct left_meanwhile.account
from left_meanwhile
inner join affordable on affordable.account = left_meanwhile.account
