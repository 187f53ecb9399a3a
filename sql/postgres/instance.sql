-- name: instance_progress
-- args: @shard smallint, @id uuid, @lease uuid, @progress text,
--       @visit integer
-- What a running handler says of itself; the step's commit clears it, unless
-- that is tried again.
with mine as materialized (
  select 1 from pawl.agenda
   where shard = @shard and instance = @id and lease = @lease for update)
update pawl.instance i set progress = @progress, progress_visit = @visit
  from mine where i.shard = @shard and i.id = @id;

-- name: instance_pin
-- args: @shard smallint, @id uuid, @lease uuid, @version integer
-- Behind agenda_lock, in the same commit.
with moved as (
update pawl.instance i set version = @version
  from pawl.agenda a
 cross join lateral (
  select version from pawl.instance
   where shard = @shard and id = @id offset 0) g
 where a.shard = @shard and a.instance = @id and a.lease = @lease
   and i.shard = @shard and i.id = @id
returning i.workflow, i.version, g.version as was_version, i.status,
          {{counted_node i.status; i.token_no; i.node}} as node, i.deleted_at, i.updated_at)
insert into pawl.counter ({{counter_columns}})
{{counted_transfers}};
