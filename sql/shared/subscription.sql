-- Which tokens wait for which events.

-- name: subscription_rules
-- args: @shard smallint, @id uuid[]
-- rows: instance uuid, token integer, pattern text, key text
-- What would cancel these instances: their rules have the numbers 0, -1, ...
select r.instance, r.token, r.pattern, r.key {{from_each}} (
  select * from pawl.subscription
   where shard = @shard and instance = s.id and token <= 0 offset 0) r
 order by r.instance, r.token desc;

-- name: subscription_put
-- args: @shard smallint, @id uuid[], @lease uuid[], @latch integer??[],
--       @token integer[], @tenant text[], @pattern text[], @key text[],
--       @since time[], @due_at time?[], @free boolean??[]
insert into pawl.subscription (shard, instance, token, tenant, pattern, key,
       since, due_at, free)
select @shard, s.id, s.token, s.tenant, s.pattern, s.key, s.since, s.due_at,
       s.free
  {{from_held}}
on conflict (shard, instance, token) do update
   set pattern = excluded.pattern, key = excluded.key, since = excluded.since,
       due_at = excluded.due_at, free = excluded.free;

-- name: subscription_assign
-- args: @shard smallint, @id uuid, @token integer, @pattern text, @key text,
--       @no uuid
-- An event was assigned to it: if that is what it waits for still, and the
-- letter is there, and not one that it has had. Spelled so that no index but
-- the key's fits.
update pawl.subscription set free = false
 where shard = @shard and instance = @id and token = @token and free
   and coalesce(pattern = @pattern and key = @key, false)
   and exists (select 1 from pawl.inbox
                where shard = @shard and instance = @id and no = @no
                  and not taken);

-- name: subscription_delete
-- args: @shard smallint, @id uuid[], @lease uuid[], @latch integer??[],
--       @token integer[]
{{delete_held subscription; token = s.token}};

-- name: subscription_clear
-- args: @shard smallint, @id uuid[], @lease uuid[], @latch integer??[]
-- The instance ends.
{{delete_held subscription; true}};
