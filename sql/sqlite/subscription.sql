-- name: subscription_match
-- Differs: the index is named, where PostgreSQL is told by the order.
select instance, {{is_away s}} as away
  from pawl_subscription s indexed by pawl_subscription_match
 where shard = @shard and tenant = @tenant and pattern = @pattern and key = @key
   and instance > @after
 order by instance limit @max;

-- name: subscription_match_open
select instance, {{is_away s}} as away
  from pawl_subscription s indexed by pawl_subscription_open
 where shard = @shard and tenant = @tenant and pattern = @pattern
   and key is null
   and instance > @after
 order by instance limit @max;
