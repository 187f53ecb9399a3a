-- name: counter_fold
-- Differs: they are one already; a trigger adds what goes to what has no
-- minute.
delete from pawl_counter
 where shard = @shard and minute > 0 and minute < @before and @least > 0
   and (workflow, version, was, was_node, status, node, minute) in (
     select workflow, version, was, was_node, status, node, minute
       from pawl_counter
      where shard = @shard and minute > 0 and minute < @before limit @max)
returning 0 as kept, 1 as folded;
