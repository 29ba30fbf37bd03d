-- Grain: one row for each record that a participant contributes, with the participant's group.
select sealed.cohort, records.account, records.unit, records.query, records.url
from records
inner join sealed on sealed.account = records.account
where records.query <> '' and records.url <> ''
