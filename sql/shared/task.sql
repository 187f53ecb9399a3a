-- Tasks: what people have to do.

-- name: task_get
-- args: @shard smallint[], @id uuid[]
-- rows: id uuid, instance uuid, tenant text, token integer, node text,
--       visit bigint, form text, title text, description text, status text,
--       priority text, input json, output json, metadata json,
--       log json,
--       signal text, error json, due_at time, assignee text,
--       delegated_by text, claimed_by text, claimed_at time,
--       completed_by text, completed_at time, transition text,
--       escalated_at time, created_at time, started_at time,
--       updated_at time, commits integer, request uuid, workflow text,
--       version integer, business_key text, instance_status text, away boolean,
--       waits boolean, heard boolean
-- Whole tasks, each beside the instance it belongs to. `waits`: its token
-- still stands there. `heard`: the instance has taken what the last change
-- told it.
-- Differs: SQLite would read all of the view for one token.
select t.id, t.instance, t.tenant, t.token, t.node, t.visit, t.form,
       t.title, t.description, t.status, t.priority, t.input, t.output,
       t.metadata, t.log, t.signal, t.error, t.due_at, t.assignee,
       t.delegated_by, t.claimed_by, t.claimed_at, t.completed_by,
       t.completed_at, t.transition, t.escalated_at, t.created_at,
       t.started_at, t.updated_at, t.commits, t.request,
       i.workflow, i.version, i.business_key, i.status as instance_status,
       i.away is not null as away,
-- only: postgres
       exists (select 1 from pawl.token_view k
-- only: sqlite
       exists (select 1 from pawl.instance k
                where k.shard = t.shard and k.id = t.instance
                  and k.token_no = t.token and k.visit = t.visit
                  and k.token_state = 'waiting')
       or exists (select 1 from pawl.token k
-- for all
                where k.shard = t.shard and k.instance = t.instance
                  and k.no = t.token and k.visit = t.visit
                  and k.state = 'waiting' offset 0) as waits,
       not exists (select 1 from (
                     select taken from pawl.inbox b
                      where b.shard = t.shard and b.instance = t.instance
                        and b.no = t.request offset 0) b
                    where not b.taken) as heard
-- only: postgres
  from {{rows}}
 cross join lateral (
  select * from pawl.task where shard = s.shard and id = s.id offset 0) t
 cross join lateral (
  select workflow, version, business_key, status, away from pawl.instance
   where shard = t.shard and id = t.instance offset 0) i;
-- only: sqlite
  from pawl.task t
  join pawl.instance i on i.shard = t.shard and i.id = t.instance
 where t.shard = @shard and t.id = @id;

-- name: task_find
-- args: @shard smallint[], @low uuid, @high uuid
-- rows: id uuid
-- Ids that begin with what was typed; two are enough to know it is ambiguous.
-- While an instance goes into the archive its tasks may be in both.
select t.id {{from_each}} (
  select id from (
    select id from pawl.task
     where shard = s.shard and id between @low and @high
     order by id limit 2) here
  union
  select id from (
    select id from pawl.archived_task
     where shard = s.shard and id between @low and @high
     order by id limit 2) there) t;

-- name: task_find_tenant
-- args: @shard smallint[], @tenant text, @status text[], @low uuid, @high uuid
-- rows: like task_find
-- The same of one tenant's, by their index; those that are archived once, with
-- one of the statuses.
select t.id {{from_each}} (
  select id from (
    select id from pawl.task
           indexed by pawl_task_tenant -- only: sqlite
     where shard = s.shard and tenant = @tenant and status = s.status
       and id between @low and @high
     order by tenant, status, id limit 2) here
  union
  select id from (
    select id from pawl.archived_task
           indexed by pawl_archived_task_tenant -- only: sqlite
     where shard = s.shard and tenant = @tenant and s.status = 'pending'
       and id between @low and @high
     order by id limit 2) there) t;

-- name: task_write
-- args: @shard smallint, @id uuid, @commits integer, @was text,
--       @request uuid, @status text, @priority text, @title text,
--       @description text, @form text, @input json, @puts_off boolean,
--       @due_at time?, @assignee text,
--       @delegated_by text, @claimed_by text, @claimed_at time?,
--       @completed_by text, @completed_at time?, @started_at time?,
--       @escalated_at time?, @transition text, @output json, @error json,
--       @metadata json, @log json, @now time?
-- What a person did, decided on a row as it was read: @commits and @was. The
-- first of two wins; the other reads again and is told. Null @priority and
-- @escalated_at: as they are now, for the engine may raise them meanwhile; so
-- is when it is due, unless it @puts_off that.
update pawl.task as t
   set commits = commits + 1, request = @request, status = @status,
       priority = coalesce(@priority, priority),
       title = coalesce(@title, title),
       description = @description, form = @form, input = @input,
       due_at = case when @puts_off then @due_at else due_at end,
       assignee = @assignee,
       delegated_by = @delegated_by, claimed_by = @claimed_by,
       claimed_at = @claimed_at, completed_by = @completed_by,
       completed_at = @completed_at, started_at = @started_at,
       escalated_at = coalesce(@escalated_at, escalated_at),
       transition = @transition, output = @output, error = @error,
       metadata = @metadata, log = @log, updated_at = {{now}}
 where shard = @shard and id = @id and commits = @commits
   and status = @was
   and not exists (select 1 from pawl.instance i
                    where i.shard = t.shard and i.id = t.instance
                      and i.away is not null offset 0);

-- columns: task_asked
--   tenant text, workflow text, version integer?, node text, instance uuid,
--   form text, priority text, assignee text, key text, business_from text,
--   business_to text, due_from time?, due time?, created_after time?,
--   created_before time?
-- Null: it may be anything. Of what is due the end is in the range.

-- columns: task_page
--   low uuid, high uuid, up boolean, max integer
-- Between two ids, neither in it; @up: the oldest of them, else the newest.

-- name: task_list
-- args: @shard smallint[], @status text[], @{{task_asked}}, @{{task_page}}
-- rows: id uuid, due_at time
-- A page of each pair of shard and status, here and in what follows; the caller
-- merges. Only what compares a status with the least of all may use the index
-- by status: the others look for less.
{{task_pages t.status >= ''}};

-- name: task_list_form
-- args: like task_list
-- rows: like task_list
{{task_pages t.form = @form}};

-- name: task_list_tenant
-- args: like task_list
-- rows: like task_list
{{task_pages t.tenant = @tenant}};

-- name: task_list_workflow
-- args: like task_list
-- rows: like task_list
{{task_pages t.workflow = @workflow}};

-- name: task_list_assignee
-- args: @shard smallint[], @status text[], @owner text, @{{task_asked}},
--       @{{task_page}}
-- rows: like task_list
-- Those that a user is to do.
{{task_pages t.assignee = @owner}};

-- name: task_list_claimed
-- args: like task_list_assignee
-- rows: like task_list
-- Those that a user is doing.
{{task_pages t.claimed_by = @owner}};

-- name: task_list_key
-- args: like task_list
-- rows: like task_list
-- All of the instances that have the business key, or, where none is asked for,
-- the key.
select t.id, t.due_at {{from_each}} (
  select t.id, t.due_at from (
    select id as found from pawl.instance
           indexed by pawl_instance_business_key -- only: sqlite
     where shard = s.shard and business_key >= @business_from
       and business_key < @business_to
    union all
    select id from pawl.instance
     where @business_from is null and shard = s.shard and key = @key
       and deleted_at is null and successor is null
    union all
    select id from pawl.instance
     where @business_from is null and shard = s.shard and key = @key
       and successor is not null
    offset 0) f {{tasks_of s.shard; f.found}}
   where t.status = s.status and {{task_fits_page}}) t;

-- name: task_list_due
-- args: @shard smallint[], @status text[], @{{task_asked}}, @from_at time,
--       @from_id uuid, @to_at time, @to_id uuid, @up boolean, @max integer
-- rows: like task_list
-- In order of due time, between two places in it, without these: the first of
-- them, or, not @up, the last.
select t.id, t.due_at {{from_each}} (
  select * from ({{task_due_walk asc; @up}}) sooner
  union all
  select * from ({{task_due_walk desc; not @up}}) later) t;

-- name: task_insert
-- args: @shard smallint, @id uuid[], @lease uuid[], @latch integer??[],
--       @task uuid[], @tenant text[], @workflow text[], @token integer[],
--       @node text[], @visit bigint[], @form text[], @title text[], @description text[],
--       @priority text[], @input json[], @metadata json[],
--       @signal text[], @assignee text[],
--       @due_at time?[], @created_at time[]
-- Once a visit, however often its node runs.
insert into pawl.task (shard, id, tenant, workflow, instance, token, node,
       visit, form, title, description, status, priority, input, metadata,
       signal, assignee, due_at, created_at, updated_at)
select @shard, s.task, s.tenant, s.workflow, s.id, s.token, s.node, s.visit,
       s.form, s.title, s.description, 'pending', s.priority, s.input, s.metadata,
       s.signal, s.assignee, s.due_at, s.created_at, s.created_at
  {{from_held}}
on conflict (shard, instance, token, visit)
   where instance is not null -- only: postgres
   do nothing;
