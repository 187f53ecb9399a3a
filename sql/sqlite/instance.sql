-- Instances: start, load, commit, read.
-- Differs throughout: statements with columns run once a row, so a row's own
-- lease is looked up by a subquery instead of a join.

-- name: instance_start
-- args: @shard smallint, @id uuid, @workflow text,
--       @workflow_version integer, @tenant text, @priority smallint,
--       @executor_group text, @business_key text, @correlation_id text,
--       @external_id text, @parent uuid, @root uuid, @parent_seq bigint,
--       @parent_token integer, @parent_visit bigint, @parent_node text,
--       @parent_index integer, @parent_end text, @trigger_event text,
--       @input json, @metadata json, @due_at time, @delay_us bigint,
--       @now time
-- Differs: a trigger puts it on the agenda. `or fail`, here and below: a unit
-- that fails is undone as a whole, so that SQLite need not keep a copy of each
-- page that one statement changes. That is a sixth of the work.
insert or fail into pawl_instance (shard, id, status, workflow, workflow_version,
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
       coalesce(@due_at, @now + @delay_us), @now, @now
  from (select coalesce(@workflow_version,
                        (select version from pawl_workflow
                          where code = @workflow and current and active
                          order by version desc limit 1), 0) as version) r
 where not exists (select 1 from pawl_workflow w
                    where w.code = @workflow and w.current
                      and r.version in (w.version, 0)
                      and not w.active)
on conflict do nothing;

-- name: instance_insert
-- args: @shard smallint, @workflow text, @workflow_version integer,
--       @id uuid[], @tenant text[], @priority smallint[],
--       @executor_group text[], @business_key text[],
--       @correlation_id text[], @external_id text[], @input json[],
--       @metadata json[], @due_at time[], @delay_us bigint[], @now time
-- rows: id uuid
insert or fail into pawl_instance (shard, id, status, workflow, workflow_version,
       tenant, priority, executor_group, business_key, correlation_id,
       external_id, input, metadata, visit, attempt, version, seq,
       token_due_at, created_at, updated_at)
select @shard, @id, 'running', @workflow, r.version, @tenant,
       @priority, @executor_group, @business_key, @correlation_id,
       @external_id, @input, @metadata, 0, 0, 0, 0,
       coalesce(@due_at, @now + @delay_us), @now, @now
  from (select coalesce(@workflow_version,
                        (select version from pawl_workflow
                          where code = @workflow and current and active
                          order by version desc limit 1), 0) as version) r
 where not exists (select 1 from pawl_workflow w
                    where w.code = @workflow and w.current
                      and r.version in (w.version, 0)
                      and not w.active)
on conflict do nothing
returning id;

-- name: instance_alike
-- args: @shard smallint, @workflow text, @workflow_version integer,
--       @tenant text, @priority smallint, @executor_group text,
--       @business_key text, @correlation_id text, @metadata json,
--       @due_at time, @delay_us bigint, @id uuid[], @input json[],
--       @now time
insert or fail into pawl_instance (shard, id, status, workflow, workflow_version,
       tenant, priority, executor_group, business_key, correlation_id,
       input, metadata, visit, attempt, version, seq, token_due_at,
       created_at, updated_at)
select @shard, @id, 'running', @workflow, r.version, @tenant,
       @priority, @executor_group, @business_key, @correlation_id, @input,
       @metadata, 0, 0, 0, 0, coalesce(@due_at, @now + @delay_us), @now, @now
  from (select coalesce(@workflow_version,
                        (select version from pawl_workflow
                          where code = @workflow and current and active
                          order by version desc limit 1), 0) as version) r
 where not exists (select 1 from pawl_workflow w
                    where w.code = @workflow and w.current
                      and r.version in (w.version, 0)
                      and not w.active);

-- name: instance_by_key
-- args: @shard smallint, @workflow text, @tenant text, @external_id text
-- rows: id uuid
select id from pawl_instance
 where shard = @shard and workflow = @workflow
   and external_id = @external_id
   and coalesce(tenant, '') = coalesce(@tenant, '')
   and deleted_at is null;

-- name: instance_known
-- args: @shard smallint, @workflow text, @no integer[], @id uuid[],
--       @tenant text[], @external_id text[]
-- rows: no integer, id uuid
select @no as no, id from pawl_instance
 where shard = @shard and id = @id and @external_id is null
   and deleted_at is null
union all
select @no, id from pawl_instance
 where shard = @shard and workflow = @workflow
   and external_id = @external_id
   and coalesce(tenant, '') = coalesce(@tenant, '')
   and deleted_at is null;

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
-- Differs: the index is named, or the planner would read the whole agenda.
select i.id, i.status, i.workflow, i.workflow_version, i.tenant,
       i.correlation_id, i.input,
       case when i.parts = 0 then i.variables
            else (select '{' || group_concat(v.members, ',') || '}'
                    from pawl_variable v
                   where v.shard = @shard and v.instance = i.id) end
       as variables,
       i.token_no, i.token_state, i.node, i.previous_node, i.visit,
       i.attempt, i.token_data, i.token_event, i.token_detail,
       i.token_due_at, i.tokens, i.sent,
       i.children, i.immediate, i.joined, i.stopped, i.compensation,
       i.deadline_at, i.suspended_at, i.parent, i.parent_token,
       i.parent_visit, i.parent_node, i.parent_index, i.version, i.seq,
       i.started_at, i.cancellation,
       (select w.revision from pawl_workflow w
         where w.code = i.workflow and w.version = i.workflow_version
           and w.current) as revision, i.parts
  from pawl_agenda a indexed by pawl_agenda_due
  join pawl_instance i on i.shard = @shard and i.id = a.instance
 where a.shard = @shard and not a.ready and a.due_at = @now + @lease_us
   and a.lease = @lease;

-- name: instance_commit
-- args: @shard smallint, @id uuid[], @lease uuid[], @latch integer[],
--       @version bigint[], @was text[], @status text[],
--       @variables json[], @parts integer[],
--       @token_no integer[], @token_state text[], @node text[],
--       @previous_node text[], @visit bigint[], @attempt integer[],
--       @token_due_at time[], @seq bigint[], @error json[],
--       @started_at time[], @updated_at time[]
update pawl_instance
   set version = version + 1, lease = @lease, seq = @seq, status = @status,
       variables = case when @parts is null then variables
                        else @variables end,
       parts = coalesce(@parts, parts), token_no = @token_no,
       token_state = @token_state, node = @node,
       previous_node = @previous_node, visit = @visit, attempt = @attempt,
       token_due_at = @token_due_at, error = @error,
       output = case when completed_at is null then output end,
       state_text = null, completed_at = null,
       started_at = coalesce(started_at, @started_at),
       entered_at = case when visit = @visit then entered_at
                         else @updated_at end,
       updated_at = @updated_at
 where shard = @shard and id = @id and version = @version and status = @was
   and exists (select 1 from pawl_agenda a
                where a.shard = @shard and a.instance = @id
                  and a.lease = @lease
                  and (@latch is null or a.latch = @latch));

-- name: instance_end
-- args: @shard smallint, @id uuid[], @lease uuid[], @latch integer[],
--       @version bigint[], @was text[], @status text[],
--       @variables json[], @parts integer[],
--       @node text[], @previous_node text[], @visit bigint[],
--       @attempt integer[], @seq bigint[], @output json[], @error json[],
--       @cancellation json[], @started_at time[], @updated_at time[]
update pawl_instance
   set version = version + 1, lease = @lease, seq = @seq, status = @status,
       variables = case when @parts is null then variables
                        else @variables end,
       parts = coalesce(@parts, parts), token_no = null,
       token_state = null, node = @node, previous_node = @previous_node,
       visit = @visit, attempt = @attempt, token_data = null,
       token_event = null, token_detail = null, token_due_at = null,
       output = coalesce(@output, output), error = @error, state_text = null,
       cancellation = coalesce(@cancellation, cancellation),
       started_at = coalesce(started_at, @started_at),
       updated_at = @updated_at, completed_at = @updated_at
 where shard = @shard and id = @id and version = @version and status = @was
   and exists (select 1 from pawl_agenda a
                where a.shard = @shard and a.instance = @id
                  and a.lease = @lease
                  and (@latch is null or a.latch = @latch));

-- name: instance_stay
-- args: @shard smallint, @id uuid[], @lease uuid[], @version bigint[],
--       @variables json[], @parts integer[], @node text[],
--       @previous_node text[], @seq bigint[], @updated_at time[]
update pawl_instance
   set version = version + 1, lease = @lease, seq = @seq,
       variables = case when @parts is null then variables
                        else @variables end,
       parts = coalesce(@parts, parts), node = @node,
       previous_node = @previous_node, updated_at = @updated_at
 where shard = @shard and id = @id and version = @version
   and exists (select 1 from pawl_agenda a
                where a.shard = @shard and a.instance = @id
                  and a.lease = @lease);

-- name: instance_step
-- args: @shard smallint, @id uuid[], @lease uuid[], @version bigint[],
--       @variables json[], @token_no integer[], @node text[],
--       @previous_node text[], @visit bigint[], @seq bigint[],
--       @started_at time[], @now time
-- rows: instance uuid, latch integer
-- every: row
update pawl_instance
   set version = version + 1, lease = @lease, seq = @seq,
       variables = coalesce(@variables, variables), token_no = @token_no,
       token_state = 'active', node = @node, previous_node = @previous_node,
       visit = @visit, attempt = 0, token_due_at = null, error = null,
       state_text = null, started_at = coalesce(started_at, @started_at),
       entered_at = case when visit = @visit then entered_at else @now end,
       updated_at = @now
 where shard = @shard and id = @id and version = @version
   and status = 'running'
   and exists (select 1 from pawl_agenda a
                where a.shard = @shard and a.instance = @id
                  and a.lease = @lease)
returning id as instance, (select a.latch from pawl_agenda a
                            where a.shard = @shard and a.instance = @id)
          as latch;

-- name: instance_finish
-- args: @shard smallint, @id uuid[], @lease uuid[], @version bigint[],
--       @variables json[], @node text[], @previous_node text[],
--       @visit bigint[], @attempt integer[], @seq bigint[], @output json[],
--       @started_at time[], @now time
-- rows: every integer
-- every: row
update pawl_instance
   set version = version + 1, lease = @lease, seq = @seq,
       status = 'completed', variables = coalesce(@variables, variables),
       token_no = null, token_state = null, node = @node,
       previous_node = @previous_node, visit = @visit, attempt = @attempt,
       token_data = null, token_event = null, token_detail = null,
       token_due_at = null, output = coalesce(@output, output), error = null,
       state_text = null, started_at = coalesce(started_at, @started_at),
       updated_at = @now, completed_at = @now
 where shard = @shard and id = @id and version = @version
   and status = 'running'
returning 1 as every;

-- name: instance_more
-- args: @shard smallint, @id uuid[], @lease uuid[], @latch integer[],
--       @workflow_version integer[], @token_data json[],
--       @token_event json[], @token_detail json[], @tokens integer[],
--       @sent bigint[], @children integer[], @immediate bigint[],
--       @joined json[], @stopped json[], @compensation json[],
--       @cancellation json[], @suspended_at time[], @deadline_at time[],
--       @output json[]
update pawl_instance
   set workflow_version = coalesce(@workflow_version, workflow_version),
       token_data = @token_data, token_event = @token_event,
       token_detail = @token_detail, tokens = @tokens, sent = @sent,
       children = @children, immediate = @immediate, joined = @joined,
       stopped = @stopped, compensation = @compensation,
       cancellation = case when @cancellation <> 'null'
                           then @cancellation
                           when @cancellation is null
                           then cancellation end,
       suspended_at = @suspended_at, deadline_at = @deadline_at,
       output = coalesce(@output, output)
 where shard = @shard and id = @id
   and exists (select 1 from pawl_agenda a
                where a.shard = @shard and a.instance = @id
                  and a.lease = @lease
                  and (@latch is null or a.latch = @latch));

-- name: instance_progress
-- args: @shard smallint, @id uuid, @lease uuid, @state_text text
update pawl_instance set state_text = @state_text
 where shard = @shard and id = @id
   and exists (select 1 from pawl_agenda a
                where a.shard = @shard and a.instance = @id
                  and a.lease = @lease);

-- name: instance_pin
-- args: @shard smallint, @id uuid, @lease uuid, @workflow_version integer
update pawl_instance set workflow_version = @workflow_version
 where shard = @shard and id = @id
   and exists (select 1 from pawl_agenda a
                where a.shard = @shard and a.instance = @id
                  and a.lease = @lease);

-- name: instance_settle
-- args: @shard smallint, @id uuid
-- rows: lease uuid, version bigint
select lease, version from pawl_instance where shard = @shard and id = @id;

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
                 and not exists (select 1 from pawl_agenda a
                      where a.shard = @shard and a.instance = @id
                        and a.lease is not null)
                then 'created' else status end as status,
       workflow, workflow_version, tenant, priority, executor_group,
       business_key, correlation_id, external_id, input,
       case when parts = 0 then variables
            else (select '{' || group_concat(v.members, ',') || '}'
                    from pawl_variable v
                   where v.shard = @shard and v.instance = @id) end
       as variables, output,
       metadata, error, state_text, cancellation, version, node, parent,
       root, parent_node, parent_index, trigger_event, compensation,
       deadline_at, suspended_at, created_at, started_at, updated_at,
       completed_at, parts
  from pawl_instance
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
  from pawl_tokens
 where shard = @shard and instance = @id
   and (@everything or state in ('active', 'waiting'))
 order by no;

-- name: instance_kin
-- args: @shard smallint, @id uuid
-- rows: root uuid, tenant text, executor_group text
select root, tenant, executor_group
  from pawl_instance where shard = @shard and id = @id;

-- name: instance_children
-- args: @shard smallint, @parent uuid, @token integer, @after uuid,
--       @max integer
-- rows: id uuid
-- Differs: the index is named, or the planner would walk all ids.
select id from pawl_instance indexed by pawl_instance_parent
 where shard = @shard and parent = @parent and id > @after
   and parent_end = 'cancel' and status in ('running', 'waiting', 'suspended')
   and (@token is null or parent_token = @token)
 order by id limit @max;

-- name: instance_find
-- args: @shard smallint[], @low uuid, @high uuid
-- rows: id uuid
select id from pawl_instance
 where shard = @shard and id between @low and @high
   and deleted_at is null
 order by id limit 2;

-- name: instance_find_end
-- args: @shard smallint, @digits text, @max integer
-- rows: id uuid, seen bigint
with recent (id) as materialized (
  select id from pawl_instance
   where shard = @shard order by id desc limit @max)
select r.id, (select count(*) from recent) as seen from recent r
 where substr(lower(hex(r.id)), -length(@digits)) = @digits
   and exists (select 1 from pawl_instance i
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
select id, case when status = 'running' and started_at is null
                   and not exists (select 1 from pawl_agenda a
                        where a.shard = t.shard and a.instance = t.id
                          and a.lease is not null)
                then 'created' else status end as status,
       workflow, workflow_version, tenant, priority, executor_group,
       business_key, correlation_id, external_id, node, error, parent, root,
       parent_node, parent_index, created_at, started_at, updated_at,
       completed_at
  from pawl_instance t
 where shard = @shard and t.status = @status and deleted_at is null
   and (@workflow is null or workflow = @workflow)
   and (@workflow_version is null or workflow_version = @workflow_version)
   and (@tenant is null or tenant = @tenant)
   and (@correlation_id is null or correlation_id = @correlation_id)
   and (@business_key is null or business_key = @business_key)
   and (@external_id is null or external_id = @external_id)
   and (@before is null or id < @before)
 order by id desc limit @max;

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
select id, case when t.status = 'running' and started_at is null
                   and not exists (select 1 from pawl_agenda a
                        where a.shard = t.shard and a.instance = t.id
                          and a.lease is not null)
                then 'created' else t.status end as status,
       workflow, workflow_version, tenant, priority, executor_group,
       business_key, correlation_id, external_id, node, error, parent, root,
       parent_node, parent_index, created_at, started_at, updated_at,
       completed_at
  from pawl_instance t
 where shard = @shard and deleted_at is null
   and id in (select id from pawl_instance
               where shard = @shard and parent = @parent
              union all
              select id from pawl_instance
               where shard = @shard and root = @root)
   and (@parent is null or parent = @parent)
   and (@root is null or root = @root)
   and (@workflow is null or workflow = @workflow)
   and (@workflow_version is null or workflow_version = @workflow_version)
   and (@tenant is null or tenant = @tenant)
   and (@correlation_id is null or correlation_id = @correlation_id)
   and (@business_key is null or business_key = @business_key)
   and (@external_id is null or external_id = @external_id)
   and (@before is null or id < @before)
 order by id desc limit @max;
