-- name: waiter_put
-- args: @shard smallint, @id uuid, @ttl_us bigint, @now time?
-- Who ends it tells so from now on, unless he is about to commit.
insert into pawl.waiter as w (shard, instance, expires_at)
values (@shard, @id, {{from_now @ttl_us}})
on conflict (shard, instance) do update
   set expires_at = excluded.expires_at
 where w.expires_at < excluded.expires_at - interval '20 seconds';

-- name: waiter_prune
-- args: @shard smallint, @now time?, @max integer
delete from pawl.waiter w
 using (select ctid as place from pawl.waiter
         where shard = @shard and expires_at < {{now}}
         limit @max for update skip locked) g
 where w.shard = @shard and w.ctid = g.place;
