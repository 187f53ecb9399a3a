-- name: instance_progress
update pawl_instance set progress = @progress
 where shard = @shard and id = @id
   and {{leased}};

-- name: instance_pin
update pawl_instance set version = @version
 where shard = @shard and id = @id
   and {{leased}};

-- name: instance_list
select id, {{shown_status t.shard; t.id; status}},
       {{listed}}
  from pawl_instance t
 where shard = @shard and t.status = @status and deleted_at is null
   and {{list_page}};

-- name: instance_family
-- The same among the children of one instance, or all that descend from one:
-- by their indexes, whatever their status.
select id, {{shown_status t.shard; t.id; t.status}},
       {{listed}}
  from pawl_instance t
 where shard = @shard and deleted_at is null
   and id in (select id from pawl_instance
               where shard = @shard and parent = @parent
              union all
              select id from pawl_instance
               where shard = @shard and root = @root)
   and (@parent is null or parent = @parent)
   and (@root is null or root = @root)
   and {{list_page}};
