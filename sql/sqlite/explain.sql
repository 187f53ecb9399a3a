-- name: explain_workflow
-- The definition it runs by; of one that has not started and names no
-- version, the one it would be given.
select w.version, w.graph, w.name, w.active
  from pawl_instance i
  join pawl_workflow w on w.code = i.workflow and w.current
   and (w.version = i.version or i.version = 0 and w.active)
 where i.shard = @shard and i.id = @id
 order by w.version desc limit 1;

-- name: explain_owner
-- Differs: the planner is kept from beginning elsewhere.
select o.task, o.kind, o.id
  from pawl_task t indexed by pawl_task_visit
 cross join pawl_owner o on o.shard = @shard and o.task = t.id
 where t.shard = @shard and t.instance = @id
   and t.status in ('pending', 'running', 'failed')
 order by o.task, o.kind, o.id;
