-- name: subscription_match
-- args: @shard smallint, @tenant text, @pattern text, @key text,
--       @after uuid, @max integer
-- rows: instance uuid, away boolean
-- Who is told of each event: who, of a tenant, waits for events of this pattern with this key, in the
-- order of their ids, from behind @after. Spelled so that no other index has
-- this order: the primary key would do for the planner, and walk all that wait.
-- The last column before the instance ends with a plain "<=", which stops the
-- scan.
select instance, {{is_away s}} as away from pawl.subscription s
 where shard = @shard and tenant = @tenant and pattern = @pattern
   and (key, instance) > (@key, @after) and key <= @key and free is null
 order by key, instance limit @max;

-- name: subscription_match_open
-- args: @shard smallint, @tenant text, @pattern text, @after uuid,
--       @max integer
-- rows: like subscription_match
-- The same of those that wait without a key.
select instance, {{is_away s}} as away from pawl.subscription s
 where shard = @shard and tenant = @tenant
   and (pattern, instance) > (@pattern, @after)
   and pattern <= @pattern and key is null
 order by pattern, instance limit @max;

-- name: subscription_free
-- args: @shard smallint, @tenant text, @pattern text, @key text,
--       @since time, @after uuid, @now time?, @max integer
-- rows: instance uuid, token integer, since time, stands_still boolean
-- Those to whom an event may be assigned, who has waited longest first, from
-- behind @since and @after. Spelled as subscription_match.
select instance, token, since, {{stands_still s}} as stands_still
  from pawl.subscription s
 where shard = @shard and tenant = @tenant and pattern = @pattern
   and (key, since, instance) > (@key, @since, @after) and key <= @key and free
   and (due_at is null or due_at > {{now}})
 order by key, since, instance limit @max;
