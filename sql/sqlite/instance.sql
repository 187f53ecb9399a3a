-- name: instance_progress
update pawl_instance set progress = @progress, progress_visit = @visit
 where shard = @shard and id = @id
   and {{leased}};

-- name: instance_pin
update pawl_instance set version = @version
 where shard = @shard and id = @id
   and {{leased}};
