-- Instances: start, load, commit, read.

-- name: instance_start
-- args: @shard smallint, @id uuid, @workflow text,
--       @workflow_version integer, @tenant text, @priority smallint,
--       @executor_group text, @business_key text, @correlation_id text,
--       @external_id text, @parent uuid, @root uuid, @parent_seq bigint,
--       @parent_token integer, @parent_visit bigint, @parent_node text,
--       @parent_index integer, @parent_end text, @trigger_event text,
--       @input json, @metadata json, @due_at time, @delay_us bigint,
--       @now time
-- One instance, with its places in standing and agenda: all in one statement,
-- so that the rows are at hand and need not be read again. A repeated start
-- (same id, or same external id) inserts nothing; nor does that of a version
-- that is not active. Without a version it is the newest active one, or 0 where
-- nobody knows the code. A delay counts from the store's time; without it and
-- @due_at it is due now. Without arrays it costs the server two thirds.
with new as (
insert into pawl.instance (shard, id, status, workflow, workflow_version,
       tenant, priority, executor_group, business_key, correlation_id,
       external_id, parent, root, parent_seq, parent_token, parent_visit,
       parent_node, parent_index, parent_end, trigger_event, input,
       metadata, visit, attempt, version, seq, token_due_at, created_at,
       updated_at)
select @shard, @id, 'running', @workflow, r.version, @tenant,
       @priority, @executor_group, @business_key, @correlation_id,
       @external_id, @parent, @root, @parent_seq, @parent_token,
       @parent_visit, @parent_node, @parent_index, @parent_end,
       @trigger_event, @input, @metadata, 0, 0, 0, 0,
       coalesce(@due_at, coalesce(@now, now())
                + @delay_us * interval '1 microsecond'),
       coalesce(@now, now()), coalesce(@now, now())
  from (select coalesce(@workflow_version,
                        (select version from pawl.workflow
                          where code = @workflow and current and active
                          order by version desc limit 1), 0) as version) r
 where not exists (select from pawl.workflow w
                    where w.code = @workflow and w.current
                      and r.version in (w.version, 0)
                      and not w.active)
on conflict do nothing
returning id, workflow_version, priority, executor_group, created_at,
          coalesce(token_due_at, created_at) as due_at),
stand as (
insert into pawl.standing (shard, workflow, status, instance)
select @shard, @workflow, 'running', id from new)
insert into pawl.agenda (shard, instance, workflow, workflow_version,
       executor_group, priority, ready, due_at, takeovers, latch)
select @shard, id, @workflow, workflow_version, executor_group, priority,
       due_at <= created_at, due_at, 0, 0 from new;

-- name: instance_insert
-- args: @shard smallint, @workflow text, @workflow_version integer,
--       @id uuid[], @tenant text[], @priority smallint[],
--       @executor_group text[], @business_key text[],
--       @correlation_id text[], @external_id text[], @input json[],
--       @metadata json[], @due_at time[], @delay_us bigint[], @now time
-- rows: id uuid
-- The same for many of one workflow; returns those that are new.
with new as (
insert into pawl.instance (shard, id, status, workflow, workflow_version,
       tenant, priority, executor_group, business_key, correlation_id,
       external_id, input, metadata, visit, attempt, version, seq,
       token_due_at, created_at, updated_at)
select @shard, s.id, 'running', @workflow, r.version, s.tenant,
       s.priority, s.executor_group, s.business_key, s.correlation_id,
       s.external_id, s.input, s.metadata, 0, 0, 0, 0,
       coalesce(s.due_at, coalesce(@now, now())
                + s.delay_us * interval '1 microsecond'),
       coalesce(@now, now()), coalesce(@now, now())
  from unnest(@id, @tenant, @priority, @executor_group, @business_key,
              @correlation_id, @external_id, @input, @metadata, @due_at,
              @delay_us)
       as s (id, tenant, priority, executor_group, business_key,
             correlation_id, external_id, input, metadata, due_at, delay_us)
 cross join (select coalesce(@workflow_version,
                        (select version from pawl.workflow
                          where code = @workflow and current and active
                          order by version desc limit 1), 0) as version) r
 where not exists (select from pawl.workflow w
                    where w.code = @workflow and w.current
                      and r.version in (w.version, 0)
                      and not w.active)
on conflict do nothing
returning id, workflow_version, priority, executor_group, created_at,
          coalesce(token_due_at, created_at) as due_at),
stand as (
insert into pawl.standing (shard, workflow, status, instance)
select @shard, @workflow, 'running', id from new)
insert into pawl.agenda (shard, instance, workflow, workflow_version,
       executor_group, priority, ready, due_at, takeovers, latch)
select @shard, id, @workflow, workflow_version, executor_group, priority,
       due_at <= created_at, due_at, 0, 0 from new
returning instance as id;

-- name: instance_alike
-- args: @shard smallint, @workflow text, @workflow_version integer,
--       @tenant text, @priority smallint, @executor_group text,
--       @business_key text, @correlation_id text, @metadata json,
--       @due_at time, @delay_us bigint, @id uuid[], @input json[],
--       @now time
-- One or many that differ in their input alone, under ids that were drawn for
-- this and not sent before: all of them, or none. It costs the server a tenth
-- less than the two above, which look for what is there already.
with new as (
insert into pawl.instance (shard, id, status, workflow, workflow_version,
       tenant, priority, executor_group, business_key, correlation_id,
       input, metadata, visit, attempt, version, seq, token_due_at,
       created_at, updated_at)
select @shard, s.id, 'running', @workflow, r.version, @tenant,
       @priority, @executor_group, @business_key, @correlation_id, s.input,
       @metadata, 0, 0, 0, 0,
       coalesce(@due_at, coalesce(@now, now())
                + @delay_us * interval '1 microsecond'),
       coalesce(@now, now()), coalesce(@now, now())
  from unnest(@id, @input) as s (id, input)
 cross join (select coalesce(@workflow_version,
                        (select version from pawl.workflow
                          where code = @workflow and current and active
                          order by version desc limit 1), 0) as version) r
 where not exists (select from pawl.workflow w
                    where w.code = @workflow and w.current
                      and r.version in (w.version, 0)
                      and not w.active)
returning id, workflow_version, priority, executor_group, created_at,
          coalesce(token_due_at, created_at) as due_at),
stand as (
insert into pawl.standing (shard, workflow, status, instance)
select @shard, @workflow, 'running', id from new)
insert into pawl.agenda (shard, instance, workflow, workflow_version,
       executor_group, priority, ready, due_at, takeovers, latch)
select @shard, id, @workflow, workflow_version, executor_group, priority,
       due_at <= created_at, due_at, 0, 0 from new;

-- name: instance_by_key
-- args: @shard smallint, @workflow text, @tenant text, @external_id text
-- rows: id uuid
select id from pawl.instance
 where shard = @shard and workflow = @workflow
   and external_id = @external_id
   and coalesce(tenant, '') = coalesce(@tenant, '')
   and deleted_at is null;

-- name: instance_known
-- args: @shard smallint, @workflow text, @no integer[], @id uuid[],
--       @tenant text[], @external_id text[]
-- rows: no integer, id uuid
-- What a start that inserted nothing has found there: by its external id, or
-- without one by its id.
select s.no, i.id
  from unnest(@no, @id, @tenant, @external_id)
       as s (no, id, tenant, external_id)
 cross join lateral (
  select id from pawl.instance
   where shard = @shard and id = s.id and s.external_id is null
     and deleted_at is null
  union all
  select id from pawl.instance
   where shard = @shard and workflow = @workflow
     and external_id = s.external_id
     and coalesce(tenant, '') = coalesce(s.tenant, '')
     and deleted_at is null offset 0) i;

-- name: instance_load
-- args: @shard smallint, @lease uuid, @lease_us bigint, @now time
-- rows: id uuid, status text, workflow text, workflow_version integer,
--       tenant text, correlation_id text, input json, variables json,
--       token_no integer, token_state text, node text, previous_node text,
--       visit bigint, attempt integer, token_data json, token_event json,
--       token_detail json, token_due_at time, tokens integer, sent bigint,
--       children integer, immediate bigint, joined json, stopped json,
--       compensation json, deadline_at time, suspended_at time, parent uuid,
--       parent_token integer, parent_visit bigint, parent_node text,
--       parent_index integer, version bigint, seq bigint, started_at time,
--       cancellation json, revision integer, parts integer
-- What the claim just before it, in the same transaction, has leased. A
-- statement of its own: the claim's snapshot may be older than its locks. The
-- leases' common end finds the rows by the index on due_at; as a range, and in
-- order, so that no other index would do.
select i.id, i.status, i.workflow, i.workflow_version, i.tenant,
       i.correlation_id, i.input,
       case when i.parts = 0 then i.variables
            else (select ('{' || string_agg(v.members, ',') || '}')::json
                    from pawl.variable v
                   where v.shard = @shard and v.instance = i.id) end
       as variables,
       i.token_no, i.token_state, i.node, i.previous_node, i.visit,
       i.attempt, i.token_data, i.token_event, i.token_detail,
       i.token_due_at, i.tokens, i.sent,
       i.children, i.immediate, i.joined, i.stopped, i.compensation,
       i.deadline_at, i.suspended_at, i.parent, i.parent_token,
       i.parent_visit, i.parent_node, i.parent_index, i.version, i.seq,
       i.started_at, i.cancellation,
       (select w.revision from pawl.workflow w
         where w.code = i.workflow and w.version = i.workflow_version
           and w.current) as revision, i.parts
  from (select instance from pawl.agenda
         where shard = @shard and not ready
           and due_at >= coalesce(@now, now())
                         + @lease_us * interval '1 microsecond'
           and due_at <= coalesce(@now, now())
                         + @lease_us * interval '1 microsecond'
           and lease = @lease
         order by due_at) a
 cross join lateral (
  select * from pawl.instance
   where shard = @shard and id = a.instance offset 0) i;

-- name: instance_commit
-- args: @shard smallint, @id uuid[], @lease uuid[], @latch integer[],
--       @version bigint[], @was text[], @status text[],
--       @variables json[], @parts integer[],
--       @token_no integer[], @token_state text[], @node text[],
--       @previous_node text[], @visit bigint[], @attempt integer[],
--       @token_due_at time[], @seq bigint[], @error json[],
--       @started_at time[], @updated_at time[]
-- An instance that goes on. Null @parts: the variables are unchanged; 0: they
-- stand here; else in rows of `variable`. One that had ended has no output any
-- more. @was: its status until now. Each array is unnested by
-- itself: unnest(@a, @b) would first write them all to a store of its own.
with moved as (
update pawl.instance i
   set version = i.version + 1, lease = s.lease, seq = s.seq,
       status = s.status,
       variables = case when s.parts is null then i.variables
                        else s.variables end,
       parts = coalesce(s.parts, i.parts),
       token_no = s.token_no, token_state = s.token_state, node = s.node,
       previous_node = s.previous_node, visit = s.visit, attempt = s.attempt,
       token_due_at = s.token_due_at, error = s.error,
       output = case when i.completed_at is null then i.output end,
       state_text = null, completed_at = null,
       started_at = coalesce(i.started_at, s.started_at),
       entered_at = case when i.visit = s.visit then i.entered_at
                         else s.updated_at end,
       updated_at = s.updated_at
  from (select unnest(@id) as id, unnest(@lease) as lease,
               unnest(@latch) as latch, unnest(@version) as version,
               unnest(@was) as was, unnest(@status) as status,
               unnest(@variables) as variables, unnest(@parts) as parts,
               unnest(@token_no) as token_no,
               unnest(@token_state) as token_state, unnest(@node) as node,
               unnest(@previous_node) as previous_node,
               unnest(@visit) as visit, unnest(@attempt) as attempt,
               unnest(@token_due_at) as token_due_at, unnest(@seq) as seq,
               unnest(@error) as error, unnest(@started_at) as started_at,
               unnest(@updated_at) as updated_at
         limit cardinality(@id)) s
  cross join lateral (
   select 1 from pawl.agenda a
    where a.shard = @shard and a.instance = s.id and a.lease = s.lease
      and (s.latch is null or a.latch = s.latch) offset 0) held
  cross join lateral (
   select ctid as place from pawl.instance
    where shard = @shard and id = s.id and version = s.version offset 0) g
 where i.shard = @shard and i.ctid = g.place and i.version = s.version
returning i.id, i.workflow, i.status, s.was)
update pawl.standing t set status = m.status
  from moved m
  cross join lateral (
   select ctid as place from pawl.standing
    where shard = @shard and workflow = m.workflow and status = m.was
      and instance = m.id offset 0) g
 where t.shard = @shard and t.ctid = g.place and m.status <> m.was;

-- name: instance_end
-- args: @shard smallint, @id uuid[], @lease uuid[], @latch integer[],
--       @version bigint[], @was text[], @status text[],
--       @variables json[], @parts integer[],
--       @node text[], @previous_node text[], @visit bigint[],
--       @attempt integer[], @seq bigint[], @output json[], @error json[],
--       @cancellation json[], @started_at time[], @updated_at time[]
-- An instance that ends; its token is consumed. Null output: an earlier
-- finish's, if any. The node stays as the place
-- where it ended.
with moved as (
update pawl.instance i
   set version = i.version + 1, lease = s.lease, seq = s.seq,
       status = s.status,
       variables = case when s.parts is null then i.variables
                        else s.variables end,
       parts = coalesce(s.parts, i.parts),
       token_no = null, token_state = null, node = s.node,
       previous_node = s.previous_node, visit = s.visit, attempt = s.attempt,
       token_data = null, token_event = null, token_detail = null,
       token_due_at = null, output = coalesce(s.output, i.output),
       error = s.error,
       state_text = null,
       cancellation = coalesce(s.cancellation, i.cancellation),
       started_at = coalesce(i.started_at, s.started_at),
       updated_at = s.updated_at, completed_at = s.updated_at
  from (select unnest(@id) as id, unnest(@lease) as lease,
               unnest(@latch) as latch, unnest(@version) as version,
               unnest(@was) as was, unnest(@status) as status,
               unnest(@variables) as variables, unnest(@parts) as parts,
               unnest(@node) as node,
               unnest(@previous_node) as previous_node,
               unnest(@visit) as visit, unnest(@attempt) as attempt,
               unnest(@seq) as seq, unnest(@output) as output,
               unnest(@error) as error, unnest(@cancellation) as cancellation,
               unnest(@started_at) as started_at,
               unnest(@updated_at) as updated_at
         limit cardinality(@id)) s
  cross join lateral (
   select 1 from pawl.agenda a
    where a.shard = @shard and a.instance = s.id and a.lease = s.lease
      and (s.latch is null or a.latch = s.latch) offset 0) held
  cross join lateral (
   select ctid as place from pawl.instance
    where shard = @shard and id = s.id and version = s.version offset 0) g
 where i.shard = @shard and i.ctid = g.place and i.version = s.version
returning i.id, i.workflow, i.status, s.was)
update pawl.standing t set status = m.status
  from moved m
  cross join lateral (
   select ctid as place from pawl.standing
    where shard = @shard and workflow = m.workflow and status = m.was
      and instance = m.id offset 0) g
 where t.shard = @shard and t.ctid = g.place and m.status <> m.was;

-- name: instance_stay
-- args: @shard smallint, @id uuid[], @lease uuid[], @version bigint[],
--       @variables json[], @parts integer[], @node text[],
--       @previous_node text[], @seq bigint[], @updated_at time[]
-- One that had ended and stays so, with what it ended with: a request was
-- recorded. What that changed beside is instance_more's.
update pawl.instance i
   set version = i.version + 1, lease = s.lease, seq = s.seq,
       variables = case when s.parts is null then i.variables
                        else s.variables end,
       parts = coalesce(s.parts, i.parts), node = s.node,
       previous_node = s.previous_node, updated_at = s.updated_at
  from (select * from unnest(@id, @lease, @version, @variables, @parts, @node,
               @previous_node, @seq, @updated_at)
               as s (id, lease, version, variables, parts, node,
                     previous_node, seq, updated_at)
         limit cardinality(@id)) s
  cross join lateral (
   select 1 from pawl.agenda a
    where a.shard = @shard and a.instance = s.id and a.lease = s.lease
   offset 0) held
  cross join lateral (
   select ctid as place from pawl.instance
    where shard = @shard and id = s.id and version = s.version offset 0) g
 where i.shard = @shard and i.ctid = g.place and i.version = s.version;

-- name: instance_step
-- args: @shard smallint, @id uuid[], @lease uuid[], @version bigint[],
--       @variables json[], @token_no integer[], @node text[],
--       @previous_node text[], @visit bigint[], @seq bigint[],
--       @started_at time[], @now time
-- rows: instance uuid, latch integer
-- every: row
-- Running instances of one token that go on; see engine/plain.h. Null
-- variables: unchanged. The agenda is looked at, not locked: that nobody else
-- has written since is seen by the version.
with moved as (
update pawl.instance i
   set version = i.version + 1, lease = s.lease, seq = s.seq,
       variables = coalesce(s.variables, i.variables),
       token_no = s.token_no, token_state = 'active', node = s.node,
       previous_node = s.previous_node, visit = s.visit, attempt = 0,
       token_due_at = null, error = null, state_text = null,
       started_at = coalesce(i.started_at, s.started_at),
       entered_at = case when i.visit = s.visit then i.entered_at
                         else @now end,
       updated_at = @now
  from (select unnest(@id) as id, unnest(@lease) as lease,
               unnest(@version) as version,
               unnest(@variables) as variables,
               unnest(@token_no) as token_no, unnest(@node) as node,
               unnest(@previous_node) as previous_node,
               unnest(@visit) as visit, unnest(@seq) as seq,
               unnest(@started_at) as started_at
         limit cardinality(@id)) s
  cross join lateral (
   select latch from pawl.agenda a
    where a.shard = @shard and a.instance = s.id and a.lease = s.lease
    offset 0) held
  cross join lateral (
   select ctid as place from pawl.instance
    where shard = @shard and id = s.id and version = s.version
      and status = 'running' offset 0) g
 where i.shard = @shard and i.ctid = g.place and i.version = s.version
   and i.status = 'running'
returning i.id, held.latch)
select m.id as instance, m.latch
  from (select 1 / (count(*) = cardinality(@id))::integer as every
          from moved) c
  left join moved m on c.every = 1;

-- name: instance_finish
-- args: @shard smallint, @id uuid[], @lease uuid[], @version bigint[],
--       @variables json[], @node text[], @previous_node text[],
--       @visit bigint[], @attempt integer[], @seq bigint[], @output json[],
--       @started_at time[], @now time
-- rows: every integer
-- every: row
-- Running instances of one token that complete, behind agenda_finish.
with moved as (
update pawl.instance i
   set version = i.version + 1, lease = s.lease, seq = s.seq,
       status = 'completed', variables = coalesce(s.variables, i.variables),
       token_no = null, token_state = null, node = s.node,
       previous_node = s.previous_node, visit = s.visit, attempt = s.attempt,
       token_data = null, token_event = null, token_detail = null,
       token_due_at = null, output = coalesce(s.output, i.output),
       error = null, state_text = null,
       started_at = coalesce(i.started_at, s.started_at),
       updated_at = @now, completed_at = @now
  from (select unnest(@id) as id, unnest(@lease) as lease,
               unnest(@version) as version,
               unnest(@variables) as variables, unnest(@node) as node,
               unnest(@previous_node) as previous_node,
               unnest(@visit) as visit, unnest(@attempt) as attempt,
               unnest(@seq) as seq, unnest(@output) as output,
               unnest(@started_at) as started_at
         limit cardinality(@id)) s
  cross join lateral (
   select ctid as place from pawl.instance
    where shard = @shard and id = s.id and version = s.version
      and status = 'running' offset 0) g
 where i.shard = @shard and i.ctid = g.place and i.version = s.version
   and i.status = 'running'
returning i.id, i.workflow), stood as (
update pawl.standing t set status = 'completed'
  from moved m
  cross join lateral (
   select ctid as place from pawl.standing
    where shard = @shard and workflow = m.workflow and status = 'running'
      and instance = m.id offset 0) g
 where t.shard = @shard and t.ctid = g.place)
select 1 / (count(*) = cardinality(@id))::integer as every from moved;

-- name: instance_more
-- args: @shard smallint, @id uuid[], @lease uuid[], @latch integer[],
--       @workflow_version integer[], @token_data json[],
--       @token_event json[], @token_detail json[], @tokens integer[],
--       @sent bigint[], @children integer[], @immediate bigint[],
--       @joined json[], @stopped json[], @compensation json[],
--       @cancellation json[], @suspended_at time[], @deadline_at time[],
--       @output json[]
-- What most commits leave as it is. Behind instance_commit or instance_end.
-- A cancellation of JSON's null takes back what there was.
update pawl.instance i
   set workflow_version = coalesce(s.workflow_version, i.workflow_version),
       token_data = s.token_data, token_event = s.token_event,
       token_detail = s.token_detail, tokens = s.tokens, sent = s.sent,
       children = s.children, immediate = s.immediate, joined = s.joined,
       stopped = s.stopped, compensation = s.compensation,
       cancellation = case when s.cancellation::text <> 'null'
                           then s.cancellation
                           when s.cancellation is null
                           then i.cancellation end,
       suspended_at = s.suspended_at, deadline_at = s.deadline_at,
       output = coalesce(s.output, i.output)
  from (select * from unnest(@id, @lease, @latch, @workflow_version,
               @token_data, @token_event, @token_detail, @tokens, @sent,
               @children, @immediate, @joined, @stopped, @compensation,
               @cancellation, @suspended_at, @deadline_at, @output)
               as s (id, lease, latch, workflow_version, token_data,
                     token_event, token_detail, tokens, sent, children,
                     immediate, joined, stopped, compensation, cancellation,
                     suspended_at, deadline_at, output)
         limit cardinality(@id)) s
  cross join lateral (
   select 1 from pawl.agenda a
    where a.shard = @shard and a.instance = s.id and a.lease = s.lease
      and (s.latch is null or a.latch = s.latch) offset 0) held
  cross join lateral (
   select ctid as place from pawl.instance
    where shard = @shard and id = s.id offset 0) g
 where i.shard = @shard and i.ctid = g.place;

-- name: instance_progress
-- args: @shard smallint, @id uuid, @lease uuid, @state_text text
-- What a running handler says of itself; the step's commit clears it.
with mine as materialized (
  select 1 from pawl.agenda
   where shard = @shard and instance = @id and lease = @lease for update)
update pawl.instance i set state_text = @state_text
  from mine where i.shard = @shard and i.id = @id;

-- name: instance_pin
-- args: @shard smallint, @id uuid, @lease uuid, @workflow_version integer
-- Behind agenda_lock, in the same commit.
update pawl.instance i set workflow_version = @workflow_version
  from pawl.agenda a
 where a.shard = @shard and a.instance = @id and a.lease = @lease
   and i.shard = @shard and i.id = @id;

-- name: instance_settle
-- args: @shard smallint, @id uuid
-- rows: lease uuid, version bigint
-- After a lost answer: who made the last commit. Sent behind agenda_lock_one.
select lease, version from pawl.instance where shard = @shard and id = @id;

-- name: instance_get
-- args: @shard smallint, @id uuid
-- rows: id uuid, status text, workflow text, workflow_version integer,
--       tenant text, priority smallint, executor_group text,
--       business_key text, correlation_id text, external_id text,
--       input json, variables json, output json, metadata json, error json,
--       state_text text, cancellation json, version bigint, node text,
--       parent uuid, root uuid, parent_node text, parent_index integer,
--       trigger_event text, compensation json, deadline_at time,
--       suspended_at time, created_at time, started_at time,
--       updated_at time, completed_at time, parts integer
select id, case when status = 'running' and started_at is null
                 and not exists (select 1 from pawl.agenda a
                      where a.shard = @shard and a.instance = @id
                        and a.lease is not null)
                then 'created' else status end as status,
       workflow, workflow_version, tenant, priority, executor_group,
       business_key, correlation_id, external_id, input,
       case when parts = 0 then variables
            else (select ('{' || string_agg(v.members, ',') || '}')::json
                    from pawl.variable v
                   where v.shard = @shard and v.instance = @id) end
       as variables, output,
       metadata, error, state_text, cancellation, version, node, parent,
       root, parent_node, parent_index, trigger_event, compensation,
       deadline_at, suspended_at, created_at, started_at, updated_at,
       completed_at, parts
  from pawl.instance
 where shard = @shard and id = @id and deleted_at is null;

-- name: token_list
-- args: @shard smallint, @id uuid, @everything boolean
-- rows: no integer, node text, state text, visit bigint,
--       previous_node text, parent integer, scope text, fork text,
--       branch text, data json, event json, detail json, attempt integer,
--       due_at time, entered_at time
-- The live ones; with @everything also those that are consumed or dropped, as
-- far as they had rows of their own.
select no, node, state, visit, previous_node, parent, scope, fork, branch,
       data, event, detail, attempt, due_at, entered_at
  from pawl.tokens
 where shard = @shard and instance = @id
   and (@everything or state in ('active', 'waiting'))
 order by no;

-- name: instance_kin
-- args: @shard smallint, @id uuid
-- rows: root uuid, tenant text, executor_group text
-- What a child inherits.
select root, tenant, executor_group
  from pawl.instance where shard = @shard and id = @id;

-- name: instance_children
-- args: @shard smallint, @parent uuid, @token integer, @after uuid,
--       @max integer
-- rows: id uuid
-- Those that live and end with their parent; @token null: of all its tokens.
select id from pawl.instance
 where shard = @shard and parent = @parent and id > @after
   and parent_end = 'cancel' and status in ('running', 'waiting', 'suspended')
   and (@token is null or parent_token = @token)
 order by id limit @max;

-- name: instance_find
-- args: @shard smallint[], @low uuid, @high uuid
-- rows: id uuid
-- Ids that begin with what was typed; two are enough to know it is ambiguous.
select i.id from unnest(@shard) as s (shard) cross join lateral (
  select id from pawl.instance
   where shard = s.shard and id between @low and @high
     and deleted_at is null
   order by id limit 2) i;

-- name: instance_find_end
-- args: @shard smallint, @digits text, @max integer
-- rows: id uuid, seen bigint
-- Ids that end with what was typed, among the newest of a shard: all from its
-- key's index.
with recent as materialized (
  select id from pawl.instance
   where shard = @shard order by id desc limit @max)
select r.id, (select count(*) from recent) as seen from recent r
 where right(replace(r.id::text, '-', ''), length(@digits)) = @digits
   and exists (select 1 from pawl.instance i
                where i.shard = @shard and i.id = r.id
                  and i.deleted_at is null)
 limit 2;

-- name: instance_list
-- args: @shard smallint[], @status text[], @workflow text,
--       @workflow_version integer, @tenant text, @correlation_id text,
--       @business_key text, @external_id text, @before uuid, @max integer
-- rows: id uuid, status text, workflow text, workflow_version integer,
--       tenant text, priority smallint, executor_group text,
--       business_key text, correlation_id text, external_id text, node text,
--       error json, parent uuid, root uuid, parent_node text,
--       parent_index integer, created_at time, started_at time,
--       updated_at time, completed_at time
-- Newest first within each pair of shard and stored status; the caller merges.
-- By an index of their own: those of a correlation, a business key, an external
-- id or a tenant, the first that is given. Without any, each workflow's newest:
-- from one workflow to the next in the index of their standings.
select i.* from unnest(@shard, @status) as s (shard, status)
 cross join lateral (
  with recursive w (workflow) as (
    (select coalesce(@workflow, (
       select workflow from pawl.standing
        where shard = s.shard order by workflow limit 1)))
    union all
    select (select n.workflow from pawl.standing n
             where n.shard = s.shard and n.workflow > w.workflow
             order by n.workflow limit 1)
      from w where @workflow is null and w.workflow is not null)
  select id, case when t.status = 'running' and started_at is null
                   and not exists (select 1 from pawl.agenda a
                        where a.shard = t.shard and a.instance = t.id
                          and a.lease is not null)
                  then 'created' else t.status end as status,
         workflow, workflow_version, tenant, priority, executor_group,
         business_key, correlation_id, external_id, node, error, parent, root,
         parent_node, parent_index, created_at, started_at, updated_at,
         completed_at
    from (
     select id as found from pawl.instance
      where shard = s.shard and correlation_id = @correlation_id
     union all
     select id from pawl.instance
      where shard = s.shard and business_key = @business_key
        and @correlation_id is null
     union all
     select e.id from w cross join lateral (
       select id from pawl.instance
        where shard = s.shard and workflow = w.workflow
          and external_id = @external_id and deleted_at is null offset 0) e
      where @external_id is not null
        and num_nonnulls(@correlation_id, @business_key) = 0
     union all
     (select id from pawl.instance
       where num_nonnulls(@correlation_id, @business_key, @external_id) = 0
         and shard = s.shard and tenant = @tenant and status = s.status
         and deleted_at is null
         and (@workflow is null or workflow = @workflow)
         and (@workflow_version is null
              or workflow_version = @workflow_version)
         and id < coalesce(@before,
                           'ffffffff-ffff-ffff-ffff-ffffffffffff'::uuid)
       order by id desc limit @max)
     union all
     select n.instance from w cross join lateral (
       select instance from pawl.standing
        cross join lateral (
         select workflow_version, deleted_at from pawl.instance
          where shard = s.shard and id = instance offset 0) v
        where shard = s.shard and workflow = w.workflow and status = s.status
          and instance < coalesce(@before,
                           'ffffffff-ffff-ffff-ffff-ffffffffffff'::uuid)
          and v.deleted_at is null
          and (@workflow_version is null
               or v.workflow_version = @workflow_version)
        order by instance desc limit @max) n
      where num_nonnulls(@correlation_id, @business_key, @external_id,
                         @tenant) = 0
     offset 0) f
   cross join lateral (
    select * from pawl.instance
     where shard = s.shard and id = f.found offset 0) t
   where t.status = s.status and deleted_at is null
     and (@workflow is null or workflow = @workflow)
     and (@workflow_version is null or workflow_version = @workflow_version)
     and (@tenant is null or tenant = @tenant)
     and (@business_key is null or business_key = @business_key)
     and (@external_id is null or external_id = @external_id)
     and (@before is null or id < @before)
   order by id desc limit @max) i;

-- name: instance_family
-- args: @shard smallint[], @parent uuid, @root uuid, @workflow text,
--       @workflow_version integer, @tenant text, @correlation_id text,
--       @business_key text, @external_id text, @before uuid, @max integer
-- rows: id uuid, status text, workflow text, workflow_version integer,
--       tenant text, priority smallint, executor_group text,
--       business_key text, correlation_id text, external_id text, node text,
--       error json, parent uuid, root uuid, parent_node text,
--       parent_index integer, created_at time, started_at time,
--       updated_at time, completed_at time
-- The same among the children of one instance, or all that descend from one:
-- by their indexes, whatever their status.
select i.* from unnest(@shard) as s (shard) cross join lateral (
  select id, case when t.status = 'running' and started_at is null
                   and not exists (select 1 from pawl.agenda a
                        where a.shard = t.shard and a.instance = t.id
                          and a.lease is not null)
                  then 'created' else t.status end as status,
         workflow, workflow_version, tenant, priority, executor_group,
         business_key, correlation_id, external_id, node, error, parent, root,
         parent_node, parent_index, created_at, started_at, updated_at,
         completed_at
    from (select id as kin from pawl.instance
           where shard = s.shard and parent = @parent
          union
          select id from pawl.instance
           where shard = s.shard and root = @root offset 0) f
   cross join lateral (
     select * from pawl.instance
      where shard = s.shard and id = f.kin offset 0) t
   where deleted_at is null
     and (@parent is null or parent = @parent)
     and (@root is null or root = @root)
     and (@workflow is null or workflow = @workflow)
     and (@workflow_version is null or workflow_version = @workflow_version)
     and (@tenant is null or tenant = @tenant)
     and (@correlation_id is null or correlation_id = @correlation_id)
     and (@business_key is null or business_key = @business_key)
     and (@external_id is null or external_id = @external_id)
     and (@before is null or id < @before)
   order by id desc limit @max) i;
