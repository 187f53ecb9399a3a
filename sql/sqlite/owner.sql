-- Owners of tasks: who may take them.

-- name: owner_get
-- args: @shard smallint[], @task uuid[]
-- rows: task uuid, kind text, id text
select task, kind, id from pawl_owner
 where shard = @shard and task = @task order by kind, id;

-- name: owner_add
-- args: @shard smallint, @task uuid, @request uuid, @kind text[], @id text[]
-- Behind task_write, and only if that was done. The task is open then.
insert into pawl_owner (shard, task, kind, id, open)
select t.shard, t.id, @kind, @id, t.status in ('pending', 'running')
  from pawl_task t
 where t.shard = @shard and t.id = @task and t.request = @request
on conflict do nothing;

-- name: owner_clear
-- args: @shard smallint, @task uuid, @request uuid
-- The same: others are to come instead.
delete from pawl_owner
 where shard = @shard and task = @task
   and exists (select 1 from pawl_task t
                where t.shard = @shard and t.id = @task
                  and t.request = @request);

-- name: owner_insert
-- args: @shard smallint, @id uuid[], @lease uuid[], @latch integer[],
--       @token integer[], @visit bigint[], @kind text[], @owner text[]
insert into pawl_owner (shard, task, kind, id, open)
select t.shard, t.id, @kind, @owner, t.status in ('pending', 'running')
  from pawl_task t indexed by pawl_task_visit
 where t.shard = @shard and t.instance = @id and t.token = @token
   and t.visit = @visit
   and exists (select 1 from pawl_agenda a
                where a.shard = @shard and a.instance = @id
                  and a.lease = @lease
                  and (@latch is null or a.latch = @latch))
on conflict do nothing;
