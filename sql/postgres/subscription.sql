-- Which tokens wait for which events.

-- name: subscription_match
-- args: @shard smallint, @pattern text, @key text, @after uuid, @max integer
-- rows: instance uuid
-- Who waits for events of this pattern with this key, in the order of their
-- ids, from behind @after. Spelled so that no other index has this order: the
-- primary key would do for the planner, and walk all that wait. The last
-- column before the instance ends with a plain "<=", which stops the scan.
select instance from pawl.subscription
 where shard = @shard and pattern = @pattern
   and (key, instance) > (@key, @after) and key <= @key
 order by key, instance limit @max;

-- name: subscription_match_open
-- args: @shard smallint, @pattern text, @after uuid, @max integer
-- rows: instance uuid
-- The same of those that wait without a key.
select instance from pawl.subscription
 where shard = @shard and (pattern, instance) > (@pattern, @after)
   and pattern <= @pattern and key is null
 order by pattern, instance limit @max;

-- name: subscription_rules
-- args: @shard smallint, @id uuid[]
-- rows: instance uuid, token integer, pattern text, key text
-- What would cancel these instances: their rules have the numbers 0, -1, ...
select r.instance, r.token, r.pattern, r.key
  from unnest(@id) as s (id) cross join lateral (
  select * from pawl.subscription
   where shard = @shard and instance = s.id and token <= 0 offset 0) r
 order by r.instance, r.token desc;

-- name: subscription_put
-- args: @shard smallint, @id uuid[], @lease uuid[], @latch integer[],
--       @token integer[], @pattern text[], @key text[], @since time[],
--       @due_at time[]
insert into pawl.subscription (shard, instance, token, pattern, key, since,
       due_at)
select @shard, s.id, s.token, s.pattern, s.key, s.since, s.due_at
  from unnest(@id, @lease, @latch, @token, @pattern, @key, @since, @due_at)
       as s (id, lease, latch, token, pattern, key, since, due_at)
  cross join lateral (
   select 1 from pawl.agenda a
    where a.shard = @shard and a.instance = s.id and a.lease = s.lease
      and (s.latch is null or a.latch = s.latch) offset 0) held
on conflict (shard, instance, token) do update
   set pattern = excluded.pattern, key = excluded.key, since = excluded.since,
       due_at = excluded.due_at;

-- name: subscription_delete
-- args: @shard smallint, @id uuid[], @lease uuid[], @latch integer[],
--       @token integer[]
delete from pawl.subscription t
 using (select * from unnest(@id, @lease, @latch, @token)
               as s (id, lease, latch, token) limit cardinality(@id)) s
  cross join lateral (
   select 1 from pawl.agenda a
    where a.shard = @shard and a.instance = s.id and a.lease = s.lease
      and (s.latch is null or a.latch = s.latch) offset 0) held
  cross join lateral (
   select ctid as place from pawl.subscription
    where shard = @shard and instance = s.id and token = s.token offset 0) g
 where t.shard = @shard and t.ctid = g.place;

-- name: subscription_clear
-- args: @shard smallint, @id uuid[], @lease uuid[], @latch integer[]
-- The instance ends.
delete from pawl.subscription t
 using (select * from unnest(@id, @lease, @latch)
               as s (id, lease, latch) limit cardinality(@id)) s
  cross join lateral (
   select 1 from pawl.agenda a
    where a.shard = @shard and a.instance = s.id and a.lease = s.lease
      and (s.latch is null or a.latch = s.latch) offset 0) held
  cross join lateral (
   select ctid as place from pawl.subscription
    where shard = @shard and instance = s.id offset 0) g
 where t.shard = @shard and t.ctid = g.place;
