-- Differs: other processes see the file's data version change.

-- name: waiter_put
select @shard, @id, @ttl_us, @now limit 0;

-- name: waiter_prune
select @shard, @now, @max limit 0;
