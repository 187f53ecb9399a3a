-- name: repair_live
-- args: @shard smallint, @workflow text, @version integer,
--       @after uuid, @max integer
-- rows: id uuid, commits bigint, started boolean, compensation json,
--       stopped json
-- A page of the instances of a version that may go on, in the order of their
-- ids: unfinished ones, and those that have failed and tell where they stood.
select i.id, i.commits, i.started, i.compensation, i.stopped
  from unnest(array['running', 'waiting', 'suspended', 'failed'])
       as s (status)
 cross join lateral (
  select t.id, t.commits, t.started_at is not null as started, t.compensation,
         case when s.status = 'failed' then t.stopped end as stopped
    from pawl.standing n
   cross join lateral (
    select * from pawl.instance
     where shard = @shard and id = n.instance offset 0) t
   where n.shard = @shard and n.workflow = @workflow and n.status = s.status
     and n.instance > @after and t.version = @version
     and t.deleted_at is null
     and (s.status <> 'failed' or t.stopped is not null)
   order by n.instance limit @max) i
 order by i.id limit @max;
