-- name: workflow_count
-- Unfinished instances of this version, by shard.
select count(*) as live from pawl_instance
 where shard = @shard and workflow = @code
   and status in ('running', 'waiting', 'suspended')
   and version = @version and deleted_at is null;

-- name: workflow_in_use
-- An unfinished instance of this version, if there is one.
select id from pawl_instance
 where shard = @shard and workflow = @code
   and status in ('running', 'waiting', 'suspended')
   and version = @version and deleted_at is null limit 1;
