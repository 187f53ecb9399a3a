-- name: instance_progress
-- args: @shard smallint, @id uuid, @lease uuid, @progress text
-- What a running handler says of itself; the step's commit clears it.
with mine as materialized (
  select 1 from pawl.agenda
   where shard = @shard and instance = @id and lease = @lease for update)
update pawl.instance i set progress = @progress
  from mine where i.shard = @shard and i.id = @id;

-- name: instance_pin
-- args: @shard smallint, @id uuid, @lease uuid, @version integer
-- Behind agenda_lock, in the same commit.
update pawl.instance i set version = @version
  from pawl.agenda a
 where a.shard = @shard and a.instance = @id and a.lease = @lease
   and i.shard = @shard and i.id = @id;
