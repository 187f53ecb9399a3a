-- name: task_letter
-- args: @shard smallint, @id uuid, @request uuid, @instance uuid,
--       @event_id text, @by text, @data json, @now time?
-- Behind task_write, and only if that was done: the instance is told.
insert into pawl.inbox (shard, instance, no, kind, event_id, source, by,
       data, received_at)
select t.shard, t.instance, @request, 'task', @event_id, 'user', @by,
       @data, coalesce(@now, now())
  from (select shard, instance from pawl.task
         where shard = @shard and id = @id and request = @request offset 0) t
 cross join lateral (
  select 1 from pawl.agenda
   where shard = @shard and instance = t.instance offset 0) a
 where t.instance = @instance
on conflict do nothing;

-- name: task_list_instance
-- args: like task_list
-- rows: like task_list
-- All of the instance: a plan made for a page of ids would walk the shard's.
select t.id, t.due_at
  from {{rows}}
 cross join lateral (
  select t.id, t.due_at from (
    select * from pawl.task where shard = s.shard and instance = @instance
     order by token, visit offset 0) t
   where t.status = s.status and {{task_fits_page}}) t;

-- name: task_list_owner
-- args: @shard smallint[], @status text[], @kind text[],
--       @owner text[], @{{task_asked}}, @{{task_page}}
-- rows: like task_list
-- As a range, and in order, so that no other index would do: the key has the
-- task first. The index does not tell pending from running ones: a page of
-- either reads the open ones of that owner until it is full.
select t.id, t.due_at
  from {{rows}}
 cross join lateral (
  select * from ({{owned desc; >=; not @up}}) older
  union all
  select * from ({{owned asc; <=; @up}}) newer) t;

-- name: task_end
-- args: @shard smallint, @id uuid[], @lease uuid[], @latch integer??[],
--       @token integer[], @visit bigint[], @status text[],
--       @updated_at time[]
-- Nobody needs to do it any more. Here and below a person may have changed the
-- row meanwhile, without the agenda's lock: `on conflict` takes it as it is by
-- then. It is there.
insert into pawl.task as t ({{task_columns}})
select distinct on (o.id) o.shard, o.id, o.instance, o.token, o.node, o.visit,
       o.title, s.status, o.priority, o.created_at, s.updated_at
  from {{rows}} {{lease_guard}}
  {{task_locked}}
   set status = excluded.status, updated_at = excluded.updated_at,
       completed_at = excluded.updated_at
 where t.status in ('pending', 'running');

-- name: task_rename
-- args: @shard smallint, @id uuid[], @lease uuid[], @latch integer??[],
--       @token integer[], @visit bigint[], @node text[]
-- Its instance was moved to a version where its node is called otherwise.
insert into pawl.task as t ({{task_columns}})
select distinct on (o.id) o.shard, o.id, o.instance, o.token, s.node, o.visit,
       o.title, o.status, o.priority, o.created_at, o.updated_at
  from {{rows}} {{lease_guard}}
  {{task_locked}}
   set node = excluded.node
 where t.node <> excluded.node;

-- name: task_raise
-- args: @shard smallint, @id uuid[], @lease uuid[], @latch integer??[],
--       @token integer[], @visit bigint[], @priority text[],
--       @escalated_at time[]
-- It is overdue.
insert into pawl.task as t ({{task_columns}}, escalated_at)
select distinct on (o.id) o.shard, o.id, o.instance, o.token, o.node, o.visit,
       o.title, o.status, coalesce(s.priority, o.priority), o.created_at,
       s.escalated_at, s.escalated_at
  from {{rows}} {{lease_guard}}
  {{task_locked}}
   set priority = excluded.priority, escalated_at = excluded.escalated_at,
       updated_at = excluded.updated_at
 where t.status in ('pending', 'running');

-- name: task_due
-- args: @shard smallint, @id uuid[], @lease uuid[], @latch integer??[],
--       @token integer[], @visit bigint[], @due_at time?[],
--       @updated_at time[]
-- It was put off.
insert into pawl.task as t ({{task_columns}}, due_at)
select distinct on (o.id) o.shard, o.id, o.instance, o.token, o.node, o.visit,
       o.title, o.status, o.priority, o.created_at, s.updated_at, s.due_at
  from {{rows}} {{lease_guard}}
  {{task_locked}}
   set due_at = excluded.due_at, updated_at = excluded.updated_at
 where t.status in ('pending', 'running');

-- name: task_close
-- args: @shard smallint, @id uuid[], @lease uuid[], @latch integer??[],
--       @updated_at time[]
-- The instance ends.
insert into pawl.task as t ({{task_columns}})
select distinct on (o.id) o.shard, o.id, o.instance, o.token, o.node, o.visit,
       o.title, 'cancelled', o.priority, o.created_at, s.updated_at
  from {{rows}} {{lease_guard}}
  cross join lateral (
   select * from pawl.task
    where shard = @shard and instance = s.id
      and coalesce(status in ('pending', 'running'), false) for update) o
on conflict (shard, id) do update
   set status = excluded.status, updated_at = excluded.updated_at,
       completed_at = excluded.updated_at
 where t.status in ('pending', 'running');
