-- Grain: one row for each member, with the one key that there is.
select person, $key as key from members
