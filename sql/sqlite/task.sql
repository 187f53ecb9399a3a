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
       exists (select 1 from pawl_instance k
                where k.shard = t.shard and k.id = t.instance
                  and k.token_no = t.token and k.visit = t.visit
                  and k.token_state = 'waiting')
       or exists (select 1 from pawl_token k
                   where k.shard = t.shard and k.instance = t.instance
                     and k.no = t.token and k.visit = t.visit
                     and k.state = 'waiting') as waits,
       not exists (select 1 from pawl_inbox b
                    where b.shard = t.shard and b.instance = t.instance
                      and b.no = t.request and not b.taken) as heard
  from pawl_task t
  join pawl_instance i on i.shard = t.shard and i.id = t.instance
 where t.shard = @shard and t.id = @id;

-- name: task_find
-- args: @shard smallint[], @low uuid, @high uuid
-- rows: id uuid
-- Ids that begin with what was typed; two are enough to know it is ambiguous.
select id from pawl_task
 where shard = @shard and id between @low and @high
 order by id limit 2;

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
update pawl_task
   set version = version + 1, request = @request, status = @status,
       priority = coalesce(@priority, priority), assignee = @assignee,
       delegated_by = @delegated_by, claimed_by = @claimed_by,
       claimed_at = @claimed_at, completed_by = @completed_by,
       completed_at = @completed_at, started_at = @started_at,
       escalated_at = coalesce(@escalated_at, escalated_at),
       transition = @transition, output = @output, error = @error,
       metadata = @metadata, updated_at = @now
 where shard = @shard and id = @id and version = @version
   and status = @was;

-- name: task_letter
-- args: @shard smallint, @id uuid, @request uuid, @instance uuid,
--       @event_id text, @caller text, @data json, @now time
-- Behind task_write, and only if that was done: the instance is told.
insert into pawl_inbox (shard, instance, no, kind, event_id, source, caller,
       data, received_at)
select t.shard, t.instance, @request, 'task', @event_id, 'user', @caller,
       @data, @now
  from pawl_task t
  join pawl_agenda a on a.shard = t.shard and a.instance = t.instance
 where t.shard = @shard and t.id = @id and t.request = @request
   and t.instance = @instance
on conflict do nothing;

-- name: task_list
-- args: @shard smallint[], @status text[], @instance uuid, @form text,
--       @priority text, @due time, @before uuid, @max integer
-- rows: id uuid, due_at time
-- Newest first within each pair of shard and status, here and in what
-- follows; the caller merges.
select t.id, t.due_at from pawl_task t
 where t.shard = @shard and t.status = @status
   and (@instance is null or t.instance = @instance)
   and (@form is null or t.schema_type = @form)
   and (@priority is null or t.priority = @priority)
   and (@due is null or t.due_at <= @due)
   and (@before is null or t.id < @before)
 order by t.id desc limit @max;

-- name: task_list_instance
-- args: @shard smallint[], @status text[], @instance uuid, @form text,
--       @priority text, @due time, @before uuid, @max integer
-- rows: id uuid, due_at time
-- The plusses keep other indexes out: an instance has few tasks.
select t.id, t.due_at from pawl_task t
 where t.shard = @shard and +t.status = @status
   and t.instance = @instance
   and (@form is null or t.schema_type = @form)
   and (@priority is null or t.priority = @priority)
   and (@due is null or t.due_at <= @due)
   and (@before is null or t.id < @before)
 order by +t.id desc limit @max;

-- name: task_list_form
-- args: @shard smallint[], @status text[], @instance uuid, @form text,
--       @priority text, @due time, @before uuid, @max integer
-- rows: id uuid, due_at time
select t.id, t.due_at from pawl_task t
 where t.shard = @shard and t.status = @status
   and t.schema_type = @form
   and (@instance is null or t.instance = @instance)
   and (@priority is null or t.priority = @priority)
   and (@due is null or t.due_at <= @due)
   and (@before is null or t.id < @before)
 order by t.id desc limit @max;

-- name: task_list_assignee
-- args: @shard smallint[], @status text[], @who text,
--       @instance uuid, @form text, @priority text, @due time,
--       @before uuid, @max integer
-- rows: id uuid, due_at time
select t.id, t.due_at from pawl_task t
 where t.shard = @shard and t.status = @status
   and t.assignee = @who
   and (@instance is null or t.instance = @instance)
   and (@form is null or t.schema_type = @form)
   and (@priority is null or t.priority = @priority)
   and (@due is null or t.due_at <= @due)
   and (@before is null or t.id < @before)
 order by t.id desc limit @max;

-- name: task_list_claimed
-- args: @shard smallint[], @status text[], @who text,
--       @instance uuid, @form text, @priority text, @due time,
--       @before uuid, @max integer
-- rows: id uuid, due_at time
select t.id, t.due_at from pawl_task t
 where t.shard = @shard and t.status = @status
   and t.claimed_by = @who
   and (@instance is null or t.instance = @instance)
   and (@form is null or t.schema_type = @form)
   and (@priority is null or t.priority = @priority)
   and (@due is null or t.due_at <= @due)
   and (@before is null or t.id < @before)
 order by t.id desc limit @max;

-- name: task_list_owner
-- args: @shard smallint[], @status text[], @kind text[],
--       @who text[], @instance uuid, @form text, @priority text,
--       @due time, @before uuid, @max integer
-- rows: id uuid, due_at time
select t.id, t.due_at
  from pawl_owner o
  cross join pawl_task t on t.shard = o.shard and t.id = o.task
 where o.shard = @shard and o.kind = @kind and o.id = @who
   and o.open = (@status in ('pending', 'running'))
   and t.status = @status
   and (@before is null or o.task < @before)
   and (@instance is null or t.instance = @instance)
   and (@form is null or t.schema_type = @form)
   and (@priority is null or t.priority = @priority)
   and (@due is null or t.due_at <= @due)
 order by o.task desc limit @max;

-- name: task_list_due
-- args: @shard smallint[], @status text[], @instance uuid, @form text,
--       @priority text, @due time, @after_due time, @after uuid, @max integer
-- rows: id uuid, due_at time
-- In order of due time, behind what @after_due and @after say.
select t.id, t.due_at from pawl_task t
 where t.shard = @shard and t.status = @status
   and t.due_at <= @due
   and (t.due_at, t.id) > (@after_due, @after)
   and (@instance is null or t.instance = @instance)
   and (@form is null or t.schema_type = @form)
   and (@priority is null or t.priority = @priority)
 order by t.due_at, t.id limit @max;

-- name: task_insert
-- args: @shard smallint, @id uuid[], @lease uuid[], @latch integer[],
--       @task uuid[], @token integer[], @node text[], @visit bigint[],
--       @form text[], @title text[], @description text[], @priority text[],
--       @input json[], @signal_name text[], @assignee text[],
--       @due_at time[], @created_at time[]
insert into pawl_task (shard, id, instance, token, node, visit, schema_type,
       title, description, status, priority, input, signal_name, assignee,
       due_at, created_at, updated_at)
select @shard, @task, @id, @token, @node, @visit, @form, @title,
       @description, 'pending', @priority, @input, @signal_name, @assignee,
       @due_at, @created_at, @created_at
 where exists (select 1 from pawl_agenda a
                where a.shard = @shard and a.instance = @id
                  and a.lease = @lease
                  and (@latch is null or a.latch = @latch))
on conflict (shard, instance, token, visit) do nothing;

-- name: task_end
-- args: @shard smallint, @id uuid[], @lease uuid[], @latch integer[],
--       @token integer[], @visit bigint[], @status text[],
--       @updated_at time[]
update pawl_task indexed by pawl_task_visit
   set status = @status, updated_at = @updated_at
 where shard = @shard and instance = @id and token = @token
   and visit = @visit and status in ('pending', 'running')
   and exists (select 1 from pawl_agenda a
                where a.shard = @shard and a.instance = @id
                  and a.lease = @lease
                  and (@latch is null or a.latch = @latch));

-- name: task_rename
-- args: @shard smallint, @id uuid[], @lease uuid[], @latch integer[],
--       @token integer[], @visit bigint[], @node text[]
update pawl_task indexed by pawl_task_visit set node = @node
 where shard = @shard and instance = @id and token = @token
   and visit = @visit and node <> @node
   and exists (select 1 from pawl_agenda a
                where a.shard = @shard and a.instance = @id
                  and a.lease = @lease
                  and (@latch is null or a.latch = @latch));

-- name: task_raise
-- args: @shard smallint, @id uuid[], @lease uuid[], @latch integer[],
--       @token integer[], @visit bigint[], @priority text[],
--       @escalated_at time[]
update pawl_task indexed by pawl_task_visit
   set priority = coalesce(@priority, priority),
       escalated_at = @escalated_at, updated_at = @escalated_at
 where shard = @shard and instance = @id and token = @token
   and visit = @visit and status in ('pending', 'running')
   and exists (select 1 from pawl_agenda a
                where a.shard = @shard and a.instance = @id
                  and a.lease = @lease
                  and (@latch is null or a.latch = @latch));

-- name: task_due
-- args: @shard smallint, @id uuid[], @lease uuid[], @latch integer[],
--       @token integer[], @visit bigint[], @due_at time[],
--       @updated_at time[]
update pawl_task indexed by pawl_task_visit
   set due_at = @due_at, updated_at = @updated_at
 where shard = @shard and instance = @id and token = @token
   and visit = @visit and status in ('pending', 'running')
   and exists (select 1 from pawl_agenda a
                where a.shard = @shard and a.instance = @id
                  and a.lease = @lease
                  and (@latch is null or a.latch = @latch));

-- name: task_close
-- args: @shard smallint, @id uuid[], @lease uuid[], @latch integer[],
--       @updated_at time[]
update pawl_task indexed by pawl_task_visit
   set status = 'cancelled', updated_at = @updated_at
 where shard = @shard and instance = @id
   and status in ('pending', 'running')
   and exists (select 1 from pawl_agenda a
                where a.shard = @shard and a.instance = @id
                  and a.lease = @lease
                  and (@latch is null or a.latch = @latch));
