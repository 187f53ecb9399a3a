-- Which tokens wait for which events.

-- name: subscription_match
-- args: @shard smallint, @pattern text, @key text, @after uuid, @max integer
-- rows: instance uuid
-- Differs: the index is named, where PostgreSQL is told by the order.
select instance from pawl_subscription indexed by pawl_subscription_match
 where shard = @shard and pattern = @pattern and key = @key
   and instance > @after
 order by instance limit @max;

-- name: subscription_match_open
-- args: @shard smallint, @pattern text, @after uuid, @max integer
-- rows: instance uuid
select instance from pawl_subscription indexed by pawl_subscription_open
 where shard = @shard and pattern = @pattern and key is null
   and instance > @after
 order by instance limit @max;

-- name: subscription_rules
-- args: @shard smallint, @id uuid[]
-- rows: instance uuid, token integer, pattern text, key text
select instance, token, pattern, key from pawl_subscription
 where shard = @shard and instance = @id and token <= 0
 order by token desc;

-- name: subscription_put
-- args: @shard smallint, @id uuid[], @lease uuid[], @latch integer[],
--       @token integer[], @pattern text[], @key text[], @since time[],
--       @due_at time[]
insert into pawl_subscription (shard, instance, token, pattern, key, since,
       due_at)
select @shard, @id, @token, @pattern, @key, @since, @due_at
 where exists (select 1 from pawl_agenda a
                where a.shard = @shard and a.instance = @id
                  and a.lease = @lease
                  and (@latch is null or a.latch = @latch))
on conflict (shard, instance, token) do update
   set pattern = excluded.pattern, key = excluded.key, since = excluded.since,
       due_at = excluded.due_at;

-- name: subscription_delete
-- args: @shard smallint, @id uuid[], @lease uuid[], @latch integer[],
--       @token integer[]
delete from pawl_subscription
 where shard = @shard and instance = @id and token = @token
   and exists (select 1 from pawl_agenda a
                where a.shard = @shard and a.instance = @id
                  and a.lease = @lease
                  and (@latch is null or a.latch = @latch));

-- name: subscription_clear
-- args: @shard smallint, @id uuid[], @lease uuid[], @latch integer[]
delete from pawl_subscription
 where shard = @shard and instance = @id
   and exists (select 1 from pawl_agenda a
                where a.shard = @shard and a.instance = @id
                  and a.lease = @lease
                  and (@latch is null or a.latch = @latch));
