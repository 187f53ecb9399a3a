-- name: subscription_match
-- Differs: the index is named, where PostgreSQL is told by the order.
select instance, {{is_away s}} as away
  from pawl_subscription s indexed by pawl_subscription_match
 where shard = @shard and tenant = @tenant and pattern = @pattern and key = @key
   and free is null and instance > @after
 order by instance limit @max;

-- name: subscription_match_open
select instance, {{is_away s}} as away
  from pawl_subscription s indexed by pawl_subscription_open
 where shard = @shard and tenant = @tenant and pattern = @pattern
   and key is null
   and instance > @after
 order by instance limit @max;

-- name: subscription_free
select instance, token, since, {{stands_still s}} as stands_still
  from pawl_subscription s indexed by pawl_subscription_free
 where shard = @shard and tenant = @tenant and pattern = @pattern and key = @key
   and free and (since, instance) > (@since, @after)
   and (due_at is null or due_at > @now)
 order by since, instance limit @max;
