-- Owners of tasks: who may take them.

-- name: owner_get
-- args: @shard smallint[], @task uuid[]
-- rows: task uuid, kind text, id text
select o.task, o.kind, o.id {{from_each}} (
  select task, kind, id from pawl.owner
   where shard = s.shard and task = s.task offset 0) o
 order by o.task, o.kind, o.id;

-- name: owner_add
-- args: @shard smallint, @task uuid, @request uuid, @kind text[], @id text[]
-- Behind task_write, and only if that was done. The task is open then.
insert into pawl.owner (shard, task, kind, id, open)
select t.shard, t.id, s.kind, s.id, t.status in ('pending', 'running')
  {{from_each}} (
  select shard, id, status from pawl.task
   where shard = @shard and id = @task and request = @request offset 0) t
 where true
on conflict do nothing;

-- name: owner_clear
-- args: @shard smallint, @task uuid, @request uuid
-- The same: others are to come instead.
delete from pawl.owner
 where shard = @shard and task = @task
   and exists (select 1 from pawl.task t
                where t.shard = @shard and t.id = @task
                  and t.request = @request);

-- name: owner_insert
-- args: @shard smallint, @id uuid[], @lease uuid[], @latch integer??[],
--       @token integer[], @visit bigint[], @kind text[], @owner text[]
-- Behind task_insert, and when a task is overdue.
insert into pawl.owner (shard, task, kind, id, open)
select t.shard, t.id, s.kind, s.owner, t.status in ('pending', 'running')
  {{from_each_held}} (
   select shard, id, status from pawl.task
          indexed by pawl_task_visit -- only: sqlite
    where shard = @shard and instance = s.id and token = s.token
      and visit = s.visit offset 0) t
  {{where_held}}
on conflict do nothing;
