-- name: executor_prune
-- Rows of processes long gone, of this host or another.
delete from pawl_executor where id in (
  select id from pawl_executor where expires_at < @before limit @max);
