-- name: executor_prune
-- args: @before time, @max integer
-- Rows of processes long gone, of this host or another.
with gone as materialized (
  select ctid as place from pawl.executor where expires_at < @before
   limit @max for update skip locked)
delete from pawl.executor e using gone where e.ctid = gone.place;
