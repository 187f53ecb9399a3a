-- name: explain_workflow
-- args: @shard smallint, @id uuid
-- rows: version integer, graph json, name text, active boolean
-- The definition it runs by; of one that has not started and names no
-- version, the one it would be given.
select w.version, w.graph, w.name, w.active
  from pawl.instance i
 cross join lateral (
  select version, graph, name, active from pawl.workflow
   where code = i.workflow and current
     and (version = i.version or i.version = 0 and active)
   order by version desc limit 1) w
 where i.shard = @shard and i.id = @id;

-- name: explain_owner
-- args: @shard smallint, @id uuid
-- rows: task uuid, kind text, id text
select o.task, o.kind, o.id
  from (select id from pawl.task
         where shard = @shard and instance = @id
           and coalesce(status in ('pending', 'running', 'failed'), false)
         offset 0) t
 cross join lateral (
  select task, kind, id from pawl.owner
   where shard = @shard and task = t.id offset 0) o
 order by o.task, o.kind, o.id;
