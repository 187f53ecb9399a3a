-- Instances: start, load, commit, read.
-- Differs throughout: SQLite is sent a row at a time, and looks its lease up by
-- a subquery instead of a join; it has no table of standings, but indexes.

-- columns: given
--   tenant text, correlation text, business_key text, metadata json,
--   started_by text as by
-- Options of a start that it only hands on: engine/enter/start.h has them, and
-- takes them, by this list.

-- columns: own
--   sent bigint, children integer, immediate bigint, joined json,
--   suspended_at time?, deadline_at time?, lasts bigint?
-- What most commits leave as it is: PAWL_STATE_OWN in rules/state.h.

-- columns: rare
--   stopped json, cancellation json, deletion json, deleted_at time?,
--   purge_at time?, away json
-- What hardly any instance has: PAWL_STATE_RARE there.

-- columns: whose
--   tenant text, priority smallint, executor_group text as group, key text,
--   business_key text, correlation text, parent uuid, root uuid,
--   started_by text
-- Shown of one instance, and in lists; so are these:

-- columns: gone
--   deletion json, deleted_at time, purge_at time, away json

-- columns: times
--   created_at time as created, started_at time as started,
--   updated_at time as updated, completed_at time as completed

-- name: instance_start
-- args: @shard smallint, @id uuid, @workflow text,
--       @version integer?, @priority smallint,
--       @executor_group text, @lasts bigint?, @max_bytes bigint?,
--       @{{given}}, @key text, @parent uuid,
--       @root uuid, @parent_place json, @trigger_event text, @input json,
--       @due_at time?, @delay_us bigint?, @now time?
-- One instance, with its places in standing and agenda: all in one statement,
-- so that the rows are at hand and need not be read again. A repeated start
-- (same id, or same external id) inserts nothing; nor does that of a version
-- that is not active. Without a version it is the newest active one, or 0 where
-- nobody knows the code. A delay counts from the store's time; without it and
-- @due_at it is due now. Without arrays it costs the server two thirds.
-- Differs: in SQLite a trigger puts it on the agenda. And `or fail`, here and
-- below: a unit that fails is undone as a whole, so that SQLite need not keep a
-- copy of each page that one statement changes. That is a sixth of the work.
with new as ( -- only: postgres
insert into -- only: postgres
insert or fail into -- only: sqlite
       pawl.instance (shard, id, status, workflow, version,
       priority, executor_group, lasts, max_bytes, {{given}}, key, parent, root, parent_place,
       trigger_event, input, visit, attempt, commits, seq,
       token_due_at, created_at, updated_at)
select @shard, @id, 'running', @workflow, r.version, @priority,
       @executor_group, @lasts, @max_bytes, {{given @}}, @key, @parent, @root,
       @parent_place, @trigger_event, @input, 0, 0, 0, 0,
       coalesce(@due_at, {{from_now @delay_us}}), {{now}}, {{now}}
  from {{startable}}
   and {{unarchived @id; @key; @tenant}}
on conflict do nothing
{{to_agenda}};

-- name: instance_insert
-- args: @shard smallint, @workflow text, @version integer?,
--       @id uuid[], @priority smallint[], @executor_group text[],
--       @lasts bigint?[], @max_bytes bigint?[], @{{given}}[], @key text[], @input json[], @due_at time?[],
--       @delay_us bigint?[], @now time?
-- rows: id uuid
-- The same for many of one workflow; returns those that are new.
with new as ( -- only: postgres
insert into -- only: postgres
insert or fail into -- only: sqlite
       pawl.instance (shard, id, status, workflow, version,
       priority, executor_group, lasts, max_bytes, {{given}}, key, input, visit,
       attempt, commits, seq, token_due_at, created_at, updated_at)
select @shard, s.id, 'running', @workflow, r.version, s.priority,
       s.executor_group, s.lasts, s.max_bytes, {{given s.}}, s.key, s.input, 0, 0, 0, 0,
       coalesce(s.due_at, {{from_now s.delay_us}}), {{now}}, {{now}}
  from {{rows}} cross join -- only: postgres
  from -- only: sqlite
       {{startable}}
   and {{unarchived s.id; s.key; s.tenant}}
on conflict do nothing
{{to_agenda}}
returning instance as id; -- only: postgres
returning id; -- only: sqlite

-- name: instance_alike
-- args: @shard smallint, @workflow text, @version integer?,
--       @priority smallint, @executor_group text, @lasts bigint?,
--       @max_bytes bigint?, @{{given}},
--       @due_at time?, @delay_us bigint?, @id uuid[], @input json[],
--       @now time?
-- One or many that differ in their input alone, under ids that were drawn for
-- this and not sent before: all of them, or none. It costs the server a tenth
-- less than the two above, which look for what is there already.
with new as ( -- only: postgres
insert into -- only: postgres
insert or fail into -- only: sqlite
       pawl.instance (shard, id, status, workflow, version,
       priority, executor_group, lasts, max_bytes, {{given}}, input, visit,
       attempt, commits,
       seq, token_due_at, created_at, updated_at)
select @shard, s.id, 'running', @workflow, r.version, @priority,
       @executor_group, @lasts, @max_bytes, {{given @}}, s.input, 0, 0, 0, 0,
       coalesce(@due_at, {{from_now @delay_us}}), {{now}}, {{now}}
  from {{rows}} cross join -- only: postgres
  from -- only: sqlite
       {{startable}}
{{to_agenda}};

-- name: instance_by_key
-- args: @shard smallint, @workflow text, @tenant text, @key text
-- rows: id uuid
-- Of those that live and have ended, else of those that were archived.
select id from (
  select coalesce((
    select id from pawl.instance
     where shard = @shard and workflow = @workflow
       and key = @key
       and coalesce(tenant, '') = coalesce(@tenant, '')
       and deleted_at is null and successor is null), (
    select id from pawl.archive
     where shard = @shard and workflow = @workflow
       and key = @key
       and coalesce(tenant, '') = coalesce(@tenant, '')
       and purged_at is null and successor is null)) as id) k
 where id is not null;

-- name: instance_succeed
-- args: @shard smallint, @id uuid, @successor uuid
-- Its key is another's from now on. Behind agenda_revive, which locks it: no
-- commit writes this column.
update pawl.instance set successor = @successor
 where shard = @shard and id = @id;

-- name: instance_known
-- args: @shard smallint, @workflow text, @no integer[], @id uuid[],
--       @tenant text[], @key text[]
-- rows: no integer, id uuid, workflow text, tenant text, deleted boolean
-- What a start that inserted nothing has found there: by its external id, or
-- without one by its id, which may be another workflow's, or deleted.
select s.no as no, i.id, i.workflow, i.tenant,
       i.deleted_at is not null as deleted
  {{from_each}} (
  select id, workflow, tenant, deleted_at from pawl.instance
   where shard = @shard and id = s.id and s.key is null
  union all
  select id, workflow, tenant, deleted_at from pawl.instance
   where shard = @shard and workflow = @workflow
     and key = s.key
     and coalesce(tenant, '') = coalesce(s.tenant, '')
     and deleted_at is null and successor is null
  union all
  select id, workflow, tenant, null::timestamptz from pawl.archive
   where shard = @shard and id = s.id and s.key is null
  union all
  select id, workflow, tenant, null::timestamptz from pawl.archive
   where shard = @shard and workflow = @workflow
     and key = s.key
     and coalesce(tenant, '') = coalesce(s.tenant, '')
     and purged_at is null and successor is null offset 0) i;

-- name: instance_load
-- args: @shard smallint, @lease uuid, @lease_us bigint, @now time?
-- rows: id uuid, status text, workflow text, version integer,
--       tenant text, correlation text, input json, variables json,
--       token_no integer, token_state text, node text, previous_node text,
--       visit bigint, attempt integer, token_data json, token_event json,
--       token_detail json, token_due_at time, entered_at time,
--       tokens integer, max_bytes bigint, {{own}},
--       has_rare boolean, parent uuid, parent_place json,
--       commits bigint, seq bigint, started_at time, output json,
--       revision integer, parts integer, breakpoints bigint
-- What the claim just before it, in the same transaction, has leased. A
-- statement of its own: the claim's snapshot may be older than its locks. The
-- leases' common end finds the rows by the index on due_at; as a range, and in
-- order, so that no other index would do.
-- Differs: for SQLite the index is named, or its planner would read the whole
-- agenda; and the order is (cross), or one that has counted how long they are
-- would begin with all instances.
select i.id, i.status, i.workflow, i.version, i.tenant,
       i.correlation, i.input,
       {{variables_of i.parts; i.variables; i.id}},
       i.token_no, i.token_state, i.node, i.previous_node, i.visit,
       i.attempt, i.token_data, i.token_event, i.token_detail,
       i.token_due_at, i.entered_at, i.tokens, i.max_bytes, {{own i.}},
       coalesce(i.stopped, i.cancellation, i.deletion, i.away,
                i.compensation) is not null
         or i.deleted_at is not null as has_rare,
       i.parent, i.parent_place,
       i.commits, i.seq, i.started_at, i.output,
       (select w.revision from pawl.workflow w
         where w.code = i.workflow and w.version = i.version
           and w.current) as revision, i.parts,
       (select changes from pawl.breakpoint_change
         where no = 1) as breakpoints
-- only: postgres
  from (select instance from pawl.agenda
         where shard = @shard and not ready
           and due_at >= {{from_now @lease_us}}
           and due_at <= {{from_now @lease_us}}
           and lease = @lease
         order by due_at) a
 cross join lateral (
  select * from pawl.instance
   where shard = @shard and id = a.instance offset 0) i;
-- only: sqlite
  from pawl.agenda a indexed by pawl_agenda_due
 cross join pawl.instance i on i.shard = @shard and i.id = a.instance
 where a.shard = @shard and not a.ready and a.lease = @lease
   and a.due_at = {{from_now @lease_us}};

-- name: instance_rare
-- args: @shard smallint, @id uuid[]
-- rows: instance uuid, {{rare}}, compensation json
-- Of those that instance_load tells of.
select i.id as instance, {{rare i.}}, i.compensation
  {{from_each}} (
  select * from pawl.instance
   where shard = @shard and id = s.id offset 0) i;

-- name: instance_commit
-- args: @shard smallint, @id uuid[], @lease uuid[], @latch integer??[],
--       @commits bigint[], @was text[], @status text[],
--       @variables json[], @parts integer??[],
--       @token_no integer?[], @token_state text[], @node text[],
--       @previous_node text[], @visit bigint[], @attempt integer[],
--       @token_due_at time?[], @seq bigint[], @error json[],
--       @started_at time?[], @updated_at time[]
-- An instance that goes on. Null @parts: the variables are unchanged; 0: they
-- stand here; else in rows of `variable`. One that had ended has no output any
-- more. @was: its status until now. Each array is unnested by
-- itself: unnest(@a, @b) would first write them all to a store of its own.
with moved as ( -- only: postgres
update pawl.instance as i
   set {{goes_on_sets}}, status = s.status
  {{at_commits @token_no}};

-- name: instance_stand
-- args: like instance_commit
-- The same of one whose status stays: SQLite writes each index of a column that
-- is set, whatever it was.
with moved as ( -- only: postgres
update pawl.instance as i
   set {{goes_on_sets}}
  {{at_commits @token_no}};

-- name: instance_end
-- args: @shard smallint, @id uuid[], @lease uuid[], @latch integer??[],
--       @commits bigint[], @was text[], @status text[],
--       @variables json[], @parts integer??[],
--       @node text[], @previous_node text[], @visit bigint[],
--       @attempt integer[], @seq bigint[], @output json[], @error json[],
--       @cancellation json[], @started_at time?[], @updated_at time[]
-- An instance that ends; its token is consumed. Null output: an earlier
-- finish's, if any. The node stays as the place
-- where it ended.
with moved as ( -- only: postgres
update pawl.instance as i
   set {{commit_sets}}, status = s.status,
       token_no = null, token_state = null, node = s.node,
       previous_node = s.previous_node, visit = s.visit, attempt = s.attempt,
       token_data = null, token_event = null, token_detail = null,
       token_due_at = null, output = coalesce(s.output, i.output),
       error = s.error, progress = null,
       cancellation = coalesce(s.cancellation, i.cancellation),
       started_at = coalesce(i.started_at, s.started_at),
       updated_at = s.updated_at, completed_at = s.updated_at
  {{at_end}};

-- name: instance_stay
-- args: @shard smallint, @id uuid[], @lease uuid[], @commits bigint[],
--       @variables json[], @parts integer??[], @node text[],
--       @previous_node text[], @seq bigint[], @updated_at time[]
-- One that had ended and stays so, with what it ended with: a request was
-- recorded. What that changed beside is instance_seldom's.
update pawl.instance as i
   set {{commit_sets}}, node = s.node,
       previous_node = s.previous_node, updated_at = s.updated_at
-- only: postgres
  from {{short_rows}}
  cross join lateral (
   select 1 from pawl.agenda a
    where a.shard = @shard and a.instance = s.id and a.lease = s.lease
   offset 0) held
  cross join lateral (
   select ctid as place from pawl.instance
    where shard = @shard and id = s.id and commits = s.commits offset 0) g
 where i.shard = @shard and i.ctid = g.place and i.commits = s.commits;
-- only: sqlite
 where shard = @shard and id = @id and commits = @commits and {{leased}};

-- name: instance_step
-- args: @shard smallint, @id uuid[], @lease uuid[], @commits bigint[],
--       @variables json[], @token_no integer[], @node text[],
--       @previous_node text[], @visit bigint[], @seq bigint[],
--       @started_at time?[], @now time?
-- rows: like agenda_lock
-- every: row
-- Running instances of one token that go on; see engine/work/plain.h. Null
-- variables: unchanged. The agenda is looked at, not locked: that nobody else
-- has written since is seen by the number of commits.
with moved as ( -- only: postgres
update pawl.instance as i
   set commits = i.commits + 1, lease = s.lease, seq = s.seq,
       variables = coalesce(s.variables, i.variables),
       token_no = s.token_no, token_state = 'active', node = s.node,
       previous_node = s.previous_node, visit = s.visit, attempt = 0,
       token_due_at = null, error = null, progress = null,
       started_at = coalesce(i.started_at, s.started_at),
       entered_at = case when i.visit = s.visit then i.entered_at
                         else @now end,
       updated_at = @now
-- only: sqlite
 where shard = @shard and id = @id and commits = @commits
   and status = 'running' and {{leased}}
returning id as instance, (select a.latch from pawl.agenda a
                            where a.shard = @shard and a.instance = @id)
          as latch;
-- only: postgres
  from {{flat_rows}}
  cross join lateral (
   select latch from pawl.agenda a
    where a.shard = @shard and a.instance = s.id and a.lease = s.lease
    offset 0) held
  {{running_place}}
returning i.id, held.latch)
select m.id as instance, m.latch
  from (select 1 / (count(*) = cardinality(@id))::integer as every
          from moved) c
  left join moved m on c.every = 1;

-- name: instance_finish
-- args: @shard smallint, @id uuid[], @lease uuid[], @commits bigint[],
--       @variables json[], @node text[], @previous_node text[],
--       @visit bigint[], @attempt integer[], @seq bigint[], @output json[],
--       @started_at time?[], @now time?
-- rows: every integer
-- every: row
-- Running instances of one token that complete, behind agenda_finish.
with moved as ( -- only: postgres
update pawl.instance as i
   set commits = i.commits + 1, lease = s.lease, seq = s.seq,
       status = 'completed', variables = coalesce(s.variables, i.variables),
       token_no = null, token_state = null, node = s.node,
       previous_node = s.previous_node, visit = s.visit, attempt = s.attempt,
       token_data = null, token_event = null, token_detail = null,
       token_due_at = null, output = coalesce(s.output, i.output),
       error = null, progress = null,
       started_at = coalesce(i.started_at, s.started_at),
       updated_at = @now, completed_at = @now
-- only: sqlite
 where shard = @shard and id = @id
   and case when commits = @commits and status = 'running'
            then {{turned 'completed'; null; @now}} end;
-- only: postgres
  from {{flat_rows}} {{running_place}}
returning i.shard, i.id, i.workflow, i.version, 'running' as was), counted as (
insert into pawl.counter ({{counter_columns}})
select @shard, workflow, version, 'running', '', 'completed', '',
       date_trunc('minute', {{now}}), count(*)
  from moved group by workflow, version), stood as (
update pawl.standing t set status = 'completed'
  from moved m
 where {{in_shard_of t; m}} and t.workflow = m.workflow
   and t.status = m.was and t.instance = m.id), told as (
{{waiters_are_told}})
select 1 / (count(*) = cardinality(@id))::integer as every from moved;

-- name: instance_seldom
-- args: @shard smallint, @id uuid[], @lease uuid[], @latch integer??[],
--       @version integer?[], @token_data json[],
--       @token_event json[], @token_detail json[], @tokens integer[],
--       @{{own}}[], @{{rare}}[], @compensation json[], @output json[]
-- What most commits leave as it is (PAWL_STATE_SELDOM in rules/state.h).
-- Behind instance_commit or instance_end.
with moved as ( -- only: postgres
update pawl.instance as t
   set version = coalesce(s.version, t.version),
       token_data = s.token_data, token_event = s.token_event,
       token_detail = s.token_detail, tokens = s.tokens,
       ({{own}}, {{rare}}) = ({{own s.}}, {{rare s.}}),
       compensation = s.compensation, output = s.output
-- only: sqlite
  {{at_place instance; id = s.id}};
-- only: postgres
  from {{short_rows}} {{lease_guard}}
  cross join lateral (
   select ctid as place, version, deleted_at from pawl.instance
    where shard = @shard and id = s.id offset 0) g
 where t.shard = @shard and t.ctid = g.place
returning t.workflow, t.version, t.status,
          {{counted_node t.status; t.token_no; t.node}} as node,
          g.version as was_version, g.deleted_at as was_deleted_at,
          t.deleted_at, t.updated_at)
insert into pawl.counter ({{counter_columns}})
{{counted_transfers}}
union all
select @shard, workflow, version,
       case when was_deleted_at is null then status else 'deleted' end, '',
       case when deleted_at is null then status else 'deleted' end, '',
       date_trunc('minute', updated_at), 1
  from moved where (was_deleted_at is null) <> (deleted_at is null);

-- name: instance_settle
-- args: @shard smallint, @id uuid
-- rows: lease uuid, commits bigint, away boolean
-- After a lost answer: who made the last commit. Sent behind agenda_lock_one.
select lease, commits, away is not null as away
  from pawl.instance where shard = @shard and id = @id;

-- name: instance_progressed
-- args: @shard smallint, @id uuid, @visit integer
-- rows: progress text
-- What an earlier attempt has said: if a handler beside it said something
-- later, that of its token.
select case when i.progress_visit = @visit then i.progress
            else (select t.progress from pawl.token t
                         indexed by pawl_token_live -- only: sqlite
                   where t.shard = @shard and t.instance = @id
                     and t.state in ('active', 'waiting')
                     and t.visit = @visit) end as progress
  from pawl.instance i where i.shard = @shard and i.id = @id;

-- name: instance_status
-- args: @shard smallint, @id uuid
-- rows: status text
select {{shown_status @shard; @id; status}}
  from pawl.instance where shard = @shard and id = @id;

-- name: instance_get
-- args: @shard smallint, @id uuid
-- rows: id uuid, status text, workflow text, version integer,
--       node text, {{whose}}, parent_node text, parent_index integer??,
--       input json, variables json, output json, error json, metadata json,
--       progress text, cancellation json, commits bigint, trigger_event text,
--       trigger_source text, compensation json, deadline_at time,
--       max_bytes bigint??, suspended_at time, {{gone}}, successor uuid, {{times}}, parts integer
select id, {{shown_status @shard; @id; status}},
       workflow, version, node, {{whose}},
       {{shown_place parent_place}}, input,
       {{variables_of parts; variables; @id}}, output,
       error, metadata, progress, cancellation, commits, trigger_event,
       trigger_source, compensation, deadline_at, max_bytes, suspended_at,
       {{gone}}, successor, {{times}}, parts
  from pawl.instance
 where shard = @shard and id = @id;

-- name: token_list
-- args: @shard smallint, @id uuid, @everything boolean
-- rows: no integer, node text, state text, visit bigint,
--       previous_node text, parent integer??, scope text, fork text,
--       branch text, data json, event json, detail json, attempt integer,
--       due_at time, entered_at time, created_at time
-- The live ones; with @everything also those that are consumed or dropped, as
-- far as they had rows of their own.
select no, node, state, visit, previous_node, parent, scope, fork, branch,
       data, event, detail, attempt, due_at, entered_at, created_at
  from pawl.token_view
 where shard = @shard and instance = @id
   and (@everything or state in ('active', 'waiting'))
 order by no;

-- name: instance_kin
-- args: @shard smallint, @id uuid
-- rows: root uuid, tenant text, executor_group text
-- What a child inherits.
select root, tenant, executor_group
  from pawl.instance where shard = @shard and id = @id;

-- name: instance_ancestors
-- args: @shard smallint, @id uuid
-- rows: ancestors bigint, trust text
-- How many have led to one that sends an event, and how far it is trusted.
select coalesce({{member i.parent_place; ancestors}}::bigint, 0) as ancestors,
       (select w.trust from pawl.workflow w
         where w.code = i.workflow and w.version = i.version
           and w.current) as trust
  from pawl.instance i where i.shard = @shard and i.id = @id;

-- name: instance_names
-- args: @shard smallint, @id uuid[]
-- rows: id uuid, key text, business_key text
-- How those that fail are known elsewhere, for who is told of it.
select i.id, i.key, i.business_key
  {{from_each}} (
  select * from pawl.instance
   where shard = @shard and id = s.id offset 0) i;

-- name: instance_children
-- args: @shard smallint, @parent uuid, @token integer?, @after uuid,
--       @max integer
-- rows: id uuid
-- Those that live and end with their parent; @token null: of all its tokens.
-- Differs: for SQLite the index is named, or its planner would walk all ids.
select id from pawl.instance
       indexed by pawl_instance_parent -- only: sqlite
 where shard = @shard and parent = @parent and id > @after
   and status in ('running', 'waiting', 'suspended')
   and {{member parent_place; end}} = 'cancel'
   and (@token is null
        or {{member parent_place; token}}::integer = @token)
 order by id limit @max;

-- name: instance_find
-- args: @shard smallint[], @low uuid, @high uuid
-- rows: id uuid
-- Ids that begin with what was typed; two are enough to know it is ambiguous.
-- What was archived is found as what was not.
select i.id {{from_each}} (
  select * from (
    select id from pawl.instance
     where shard = s.shard and id between @low and @high
     order by id limit 2) here
  union all
  select * from (
    select id from pawl.archive
     where shard = s.shard and id between @low and @high
     order by id limit 2) archived) i;

-- name: instance_find_tenant
-- args: @shard smallint[], @tenant text, @low uuid, @high uuid
-- rows: like instance_find
-- The same of one tenant's, by their own index: what others have is not even
-- read.
select i.id {{from_each}} (
  select * from (
    select id from pawl.instance
           indexed by pawl_instance_tenant -- only: sqlite
     where shard = s.shard and tenant = @tenant and id between @low and @high
     order by tenant, id limit 2) here
  union all
  select * from (
    select id from pawl.archive
           indexed by pawl_archive_tenant -- only: sqlite
     where shard = s.shard and tenant = @tenant and id between @low and @high
     order by tenant, id limit 2) archived) i;

-- name: instance_find_end
-- args: @shard smallint, @digits text, @before uuid, @max integer
-- rows: id uuid, seen bigint, last uuid
-- Ids that end with what was typed, among the next of a shard before an id, the
-- newest first: all from its key's index. No id: none of them does.
with recent (id) as materialized (
  select * from (
    select id from pawl.instance
     where shard = @shard and id < @before order by id desc limit @max) here
  union all
  select * from (
    select id from pawl.archive
     where shard = @shard and id < @before
     order by id desc limit @max) archived
   order by 1 desc limit @max)
{{ending_so}};

-- name: instance_find_end_tenant
-- args: @shard smallint, @tenant text, @digits text, @before uuid,
--       @max integer
-- rows: like instance_find_end
-- The same of one tenant's, by their index.
with recent (id) as materialized (
  select * from (
    select id from pawl.instance
           indexed by pawl_instance_tenant -- only: sqlite
     where shard = @shard and tenant = @tenant and id < @before
     order by id desc limit @max) here
  union all
  select * from (
    select id from pawl.archive
           indexed by pawl_archive_tenant -- only: sqlite
     where shard = @shard and tenant = @tenant and id < @before
     order by id desc limit @max) archived
   order by 1 desc limit @max)
{{ending_so}};
