-- Tasks: what people have to do.

-- name: task_get
-- args: @shard smallint[], @id uuid[]
-- rows: id uuid, instance uuid, token integer, node text, visit bigint,
--       form text, title text, description text, status text,
--       priority text, input json, output json, metadata json,
--       signal_name text, error json, due_at time, assignee text,
--       delegated_by text, claimed_by text, claimed_at time,
--       completed_by text, completed_at time, transition text,
--       escalated_at time, created_at time, started_at time,
--       updated_at time, version integer, request uuid, workflow text,
--       workflow_version integer, instance_status text, waits boolean,
--       heard boolean
-- Whole tasks, each beside the instance it belongs to. `waits`: its token
-- still stands there. `heard`: the instance has taken what the last change
-- told it.
select t.id, t.instance, t.token, t.node, t.visit, t.schema_type as form,
       t.title, t.description, t.status, t.priority, t.input, t.output,
       t.metadata, t.signal_name, t.error, t.due_at, t.assignee,
       t.delegated_by, t.claimed_by, t.claimed_at, t.completed_by,
       t.completed_at, t.transition, t.escalated_at, t.created_at,
       t.started_at, t.updated_at, t.version, t.request,
       i.workflow, i.workflow_version, i.status as instance_status,
       exists (select 1 from pawl.tokens k
                where k.shard = t.shard and k.instance = t.instance
                  and k.no = t.token and k.visit = t.visit
                  and k.state = 'waiting' offset 0) as waits,
       not exists (select 1 from (
                     select taken from pawl.inbox
                      where shard = t.shard and instance = t.instance
                        and no = t.request offset 0) b
                    where not b.taken) as heard
  from unnest(@shard, @id) as s (shard, id)
 cross join lateral (
  select * from pawl.task where shard = s.shard and id = s.id offset 0) t
 cross join lateral (
  select workflow, workflow_version, status from pawl.instance
   where shard = t.shard and id = t.instance offset 0) i;

-- name: task_find
-- args: @shard smallint[], @low uuid, @high uuid
-- rows: id uuid
-- Ids that begin with what was typed; two are enough to know it is ambiguous.
select t.id from unnest(@shard) as s (shard) cross join lateral (
  select id from pawl.task
   where shard = s.shard and id between @low and @high
   order by id limit 2) t;

-- name: task_write
-- args: @shard smallint, @id uuid, @version integer, @was text,
--       @request uuid, @status text, @priority text, @assignee text,
--       @delegated_by text, @claimed_by text, @claimed_at time,
--       @completed_by text, @completed_at time, @started_at time,
--       @escalated_at time, @transition text, @output json, @error json,
--       @metadata json, @now time
-- What a person did, decided on a row as it was read: @version and @was. The
-- first of two wins; the other reads again and is told. Null @priority and
-- @escalated_at: as they are now, for the engine may raise them meanwhile.
update pawl.task
   set version = version + 1, request = @request, status = @status,
       priority = coalesce(@priority, priority), assignee = @assignee,
       delegated_by = @delegated_by, claimed_by = @claimed_by,
       claimed_at = @claimed_at, completed_by = @completed_by,
       completed_at = @completed_at, started_at = @started_at,
       escalated_at = coalesce(@escalated_at, escalated_at),
       transition = @transition, output = @output, error = @error,
       metadata = @metadata, updated_at = coalesce(@now, now())
 where shard = @shard and id = @id and version = @version
   and status = @was;

-- name: task_letter
-- args: @shard smallint, @id uuid, @request uuid, @instance uuid,
--       @event_id text, @caller text, @data json, @now time
-- Behind task_write, and only if that was done: the instance is told.
insert into pawl.inbox (shard, instance, no, kind, event_id, source, caller,
       data, received_at)
select t.shard, t.instance, @request, 'task', @event_id, 'user', @caller,
       @data, coalesce(@now, now())
  from (select shard, instance from pawl.task
         where shard = @shard and id = @id and request = @request offset 0) t
 cross join lateral (
  select 1 from pawl.agenda
   where shard = @shard and instance = t.instance offset 0) a
 where t.instance = @instance
on conflict do nothing;

-- name: task_list
-- args: @shard smallint[], @status text[], @instance uuid, @form text,
--       @priority text, @due time, @before uuid, @max integer
-- rows: id uuid, due_at time
-- Newest first within each pair of shard and status, here and in what
-- follows; the caller merges. Only what compares a status with the least of all
-- may use the index by status: the others look for less.
select t.id, t.due_at
  from unnest(@shard, @status) as s (shard, status)
 cross join lateral (
  select t.id, t.due_at from pawl.task t
   where t.shard = s.shard and t.status = s.status and t.status >= ''
     and (@instance is null or t.instance = @instance)
     and (@form is null or t.schema_type = @form)
     and (@priority is null or t.priority = @priority)
     and (@due is null or t.due_at <= @due)
     and (@before is null or t.id < @before)
   order by t.id desc limit @max) t;

-- name: task_list_instance
-- args: @shard smallint[], @status text[], @instance uuid, @form text,
--       @priority text, @due time, @before uuid, @max integer
-- rows: id uuid, due_at time
-- All of the instance: a plan made for a page of ids would walk the shard's.
select t.id, t.due_at
  from unnest(@shard, @status) as s (shard, status)
 cross join lateral (
  select t.id, t.due_at from (
    select * from pawl.task where shard = s.shard and instance = @instance
     order by token, visit offset 0) t
   where t.status = s.status
     and (@form is null or t.schema_type = @form)
     and (@priority is null or t.priority = @priority)
     and (@due is null or t.due_at <= @due)
     and (@before is null or t.id < @before)
   order by t.id desc limit @max) t;

-- name: task_list_form
-- args: @shard smallint[], @status text[], @instance uuid, @form text,
--       @priority text, @due time, @before uuid, @max integer
-- rows: id uuid, due_at time
select t.id, t.due_at
  from unnest(@shard, @status) as s (shard, status)
 cross join lateral (
  select t.id, t.due_at from pawl.task t
   where t.shard = s.shard and t.status = s.status
     and t.schema_type = @form
     and (@instance is null or t.instance = @instance)
     and (@priority is null or t.priority = @priority)
     and (@due is null or t.due_at <= @due)
     and (@before is null or t.id < @before)
   order by t.id desc limit @max) t;

-- name: task_list_assignee
-- args: @shard smallint[], @status text[], @who text,
--       @instance uuid, @form text, @priority text, @due time,
--       @before uuid, @max integer
-- rows: id uuid, due_at time
select t.id, t.due_at
  from unnest(@shard, @status) as s (shard, status)
 cross join lateral (
  select t.id, t.due_at from pawl.task t
   where t.shard = s.shard and t.status = s.status
     and t.assignee = @who
     and (@instance is null or t.instance = @instance)
     and (@form is null or t.schema_type = @form)
     and (@priority is null or t.priority = @priority)
     and (@due is null or t.due_at <= @due)
     and (@before is null or t.id < @before)
   order by t.id desc limit @max) t;

-- name: task_list_claimed
-- args: @shard smallint[], @status text[], @who text,
--       @instance uuid, @form text, @priority text, @due time,
--       @before uuid, @max integer
-- rows: id uuid, due_at time
select t.id, t.due_at
  from unnest(@shard, @status) as s (shard, status)
 cross join lateral (
  select t.id, t.due_at from pawl.task t
   where t.shard = s.shard and t.status = s.status
     and t.claimed_by = @who
     and (@instance is null or t.instance = @instance)
     and (@form is null or t.schema_type = @form)
     and (@priority is null or t.priority = @priority)
     and (@due is null or t.due_at <= @due)
     and (@before is null or t.id < @before)
   order by t.id desc limit @max) t;

-- name: task_list_owner
-- args: @shard smallint[], @status text[], @kind text[],
--       @who text[], @instance uuid, @form text, @priority text,
--       @due time, @before uuid, @max integer
-- rows: id uuid, due_at time
-- As a range, and in order, so that no other index would do: the key has the
-- task first. The index does not tell pending from running ones: a page of
-- either reads the open ones of that owner until it is full.
select t.id, t.due_at
  from unnest(@shard, @status, @kind, @who) as s (shard, status, kind, who)
 cross join lateral (
  select t.id, t.due_at
    from pawl.owner o
   cross join lateral (
    select * from pawl.task
     where shard = o.shard and id = o.task offset 0) t
   where o.shard = s.shard and o.kind = s.kind and o.id = s.who
     and o.open >= (s.status in ('pending', 'running'))
     and (o.open, o.task)
         < (s.status in ('pending', 'running'),
            coalesce(@before, 'ffffffff-ffff-ffff-ffff-ffffffffffff'))
     and t.status = s.status
     and (@instance is null or t.instance = @instance)
     and (@form is null or t.schema_type = @form)
     and (@priority is null or t.priority = @priority)
     and (@due is null or t.due_at <= @due)
   order by o.open desc, o.task desc limit @max) t;

-- name: task_list_due
-- args: @shard smallint[], @status text[], @instance uuid, @form text,
--       @priority text, @due time, @after_due time, @after uuid, @max integer
-- rows: id uuid, due_at time
-- In order of due time, behind what @after_due and @after say.
select t.id, t.due_at
  from unnest(@shard, @status) as s (shard, status)
 cross join lateral (
  select t.id, t.due_at from pawl.task t
   where t.shard = s.shard and t.status = s.status
     and t.due_at <= @due
     and (t.due_at, t.id) > (@after_due, @after)
     and (@instance is null or t.instance = @instance)
     and (@form is null or t.schema_type = @form)
     and (@priority is null or t.priority = @priority)
   order by t.due_at, t.id limit @max) t;

-- name: task_insert
-- args: @shard smallint, @id uuid[], @lease uuid[], @latch integer[],
--       @task uuid[], @token integer[], @node text[], @visit bigint[],
--       @form text[], @title text[], @description text[], @priority text[],
--       @input json[], @signal_name text[], @assignee text[],
--       @due_at time[], @created_at time[]
-- Once a visit, however often its node runs.
insert into pawl.task (shard, id, instance, token, node, visit, schema_type,
       title, description, status, priority, input, signal_name, assignee,
       due_at, created_at, updated_at)
select @shard, s.task, s.id, s.token, s.node, s.visit, s.form, s.title,
       s.description, 'pending', s.priority, s.input, s.signal_name,
       s.assignee, s.due_at, s.created_at, s.created_at
  from unnest(@id, @lease, @latch, @task, @token, @node, @visit, @form,
              @title, @description, @priority, @input, @signal_name,
              @assignee, @due_at, @created_at)
       as s (id, lease, latch, task, token, node, visit, form, title,
             description, priority, input, signal_name, assignee, due_at,
             created_at)
  cross join lateral (
   select 1 from pawl.agenda a
    where a.shard = @shard and a.instance = s.id and a.lease = s.lease
      and (s.latch is null or a.latch = s.latch) offset 0) held
on conflict (shard, instance, token, visit) where instance is not null
   do nothing;

-- name: task_end
-- args: @shard smallint, @id uuid[], @lease uuid[], @latch integer[],
--       @token integer[], @visit bigint[], @status text[],
--       @updated_at time[]
-- Nobody needs to do it any more. Here and below a person may have changed the
-- row meanwhile, without the agenda's lock: `on conflict` takes it as it is by
-- then. It is there.
insert into pawl.task as t (shard, id, instance, token, node, visit, title,
       status, priority, created_at, updated_at)
select distinct on (o.id) o.shard, o.id, o.instance, o.token, o.node, o.visit,
       o.title, s.status, o.priority, o.created_at, s.updated_at
  from unnest(@id, @lease, @latch, @token, @visit, @status, @updated_at)
       as s (id, lease, latch, token, visit, status, updated_at)
  cross join lateral (
   select 1 from pawl.agenda a
    where a.shard = @shard and a.instance = s.id and a.lease = s.lease
      and (s.latch is null or a.latch = s.latch) offset 0) held
  cross join lateral (
   select * from pawl.task
    where shard = @shard and instance = s.id and token = s.token
      and visit = s.visit for update) o
on conflict (shard, id) do update
   set status = excluded.status, updated_at = excluded.updated_at
 where t.status in ('pending', 'running');

-- name: task_rename
-- args: @shard smallint, @id uuid[], @lease uuid[], @latch integer[],
--       @token integer[], @visit bigint[], @node text[]
-- Its instance was moved to a version where its node is called otherwise.
insert into pawl.task as t (shard, id, instance, token, node, visit, title,
       status, priority, created_at, updated_at)
select distinct on (o.id) o.shard, o.id, o.instance, o.token, s.node, o.visit,
       o.title, o.status, o.priority, o.created_at, o.updated_at
  from unnest(@id, @lease, @latch, @token, @visit, @node)
       as s (id, lease, latch, token, visit, node)
  cross join lateral (
   select 1 from pawl.agenda a
    where a.shard = @shard and a.instance = s.id and a.lease = s.lease
      and (s.latch is null or a.latch = s.latch) offset 0) held
  cross join lateral (
   select * from pawl.task
    where shard = @shard and instance = s.id and token = s.token
      and visit = s.visit for update) o
on conflict (shard, id) do update
   set node = excluded.node
 where t.node <> excluded.node;

-- name: task_raise
-- args: @shard smallint, @id uuid[], @lease uuid[], @latch integer[],
--       @token integer[], @visit bigint[], @priority text[],
--       @escalated_at time[]
-- It is overdue.
insert into pawl.task as t (shard, id, instance, token, node, visit, title,
       status, priority, created_at, updated_at, escalated_at)
select distinct on (o.id) o.shard, o.id, o.instance, o.token, o.node, o.visit,
       o.title, o.status, coalesce(s.priority, o.priority), o.created_at,
       s.escalated_at, s.escalated_at
  from unnest(@id, @lease, @latch, @token, @visit, @priority, @escalated_at)
       as s (id, lease, latch, token, visit, priority, escalated_at)
  cross join lateral (
   select 1 from pawl.agenda a
    where a.shard = @shard and a.instance = s.id and a.lease = s.lease
      and (s.latch is null or a.latch = s.latch) offset 0) held
  cross join lateral (
   select * from pawl.task
    where shard = @shard and instance = s.id and token = s.token
      and visit = s.visit for update) o
on conflict (shard, id) do update
   set priority = excluded.priority, escalated_at = excluded.escalated_at,
       updated_at = excluded.updated_at
 where t.status in ('pending', 'running');

-- name: task_due
-- args: @shard smallint, @id uuid[], @lease uuid[], @latch integer[],
--       @token integer[], @visit bigint[], @due_at time[],
--       @updated_at time[]
-- It was put off.
insert into pawl.task as t (shard, id, instance, token, node, visit, title,
       status, priority, created_at, updated_at, due_at)
select distinct on (o.id) o.shard, o.id, o.instance, o.token, o.node, o.visit,
       o.title, o.status, o.priority, o.created_at, s.updated_at, s.due_at
  from unnest(@id, @lease, @latch, @token, @visit, @due_at, @updated_at)
       as s (id, lease, latch, token, visit, due_at, updated_at)
  cross join lateral (
   select 1 from pawl.agenda a
    where a.shard = @shard and a.instance = s.id and a.lease = s.lease
      and (s.latch is null or a.latch = s.latch) offset 0) held
  cross join lateral (
   select * from pawl.task
    where shard = @shard and instance = s.id and token = s.token
      and visit = s.visit for update) o
on conflict (shard, id) do update
   set due_at = excluded.due_at, updated_at = excluded.updated_at
 where t.status in ('pending', 'running');

-- name: task_close
-- args: @shard smallint, @id uuid[], @lease uuid[], @latch integer[],
--       @updated_at time[]
-- The instance ends.
insert into pawl.task as t (shard, id, instance, token, node, visit, title,
       status, priority, created_at, updated_at)
select distinct on (o.id) o.shard, o.id, o.instance, o.token, o.node, o.visit,
       o.title, 'cancelled', o.priority, o.created_at, s.updated_at
  from unnest(@id, @lease, @latch, @updated_at)
       as s (id, lease, latch, updated_at)
  cross join lateral (
   select 1 from pawl.agenda a
    where a.shard = @shard and a.instance = s.id and a.lease = s.lease
      and (s.latch is null or a.latch = s.latch) offset 0) held
  cross join lateral (
   select * from pawl.task
    where shard = @shard and instance = s.id
      and coalesce(status in ('pending', 'running'), false) for update) o
on conflict (shard, id) do update
   set status = excluded.status, updated_at = excluded.updated_at
 where t.status in ('pending', 'running');
