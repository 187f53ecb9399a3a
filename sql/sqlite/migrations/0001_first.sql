-- breaking: no
-- The first schema. Differs: SQLite has no schemas, so tables are named
-- pawl_instance and so on; times are integer microseconds since 1970 UTC, ids
-- 16-byte blobs, json and decimal numbers text, booleans 0 and 1. Narrow
-- tables are clustered by their key (without rowid).

create table pawl_version (
  number integer primary key,
  name text not null,
  breaking integer not null,
  applied_at integer not null
);

create table pawl_meta (
  key text primary key,
  value text not null
);

-- Definitions -------------------------------------------------------------

create table pawl_workflow (
  code text not null,
  version integer not null,
  revision integer not null,
  name text not null,
  description text not null,
  graph text not null,
  source text,
  bundle text not null,
  sha256 text not null,
  inline integer not null,
  active integer not null,
  current integer not null,
  executor_group text,
  created_at integer not null,
  modified_at integer not null,
  modified_by text,
  reason text,
  primary key (code, version, revision)
);
create unique index pawl_workflow_current on pawl_workflow (code, version)
  where current;

-- Instances ---------------------------------------------------------------

create table pawl_instance (
  shard integer not null,
  id blob not null,
  status text not null,
  workflow text not null,
  workflow_version integer not null,
  tenant text,
  priority integer not null,
  executor_group text not null,
  business_key text,
  correlation_id text,
  external_id text,
  parent blob,
  root blob,
  parent_seq integer,
  parent_token integer,
  parent_visit integer,
  parent_node text,
  parent_index integer,
  parent_end text,
  trigger_event text,
  input text,
  variables text,
  output text,
  metadata text,
  error text,
  state_text text,
  cancellation text,
  compensation text,
  deadline_at integer,
  suspended_at integer,
  -- the lone token, while there is one; several are rows of pawl_token
  token_no integer,
  token_state text,
  node text,
  previous_node text,
  visit integer not null,
  attempt integer not null,
  token_data text,
  token_event text,
  token_detail text,
  token_due_at integer,
  entered_at integer,
  -- counters and marks of the whole instance
  tokens integer not null default 1,
  sent integer not null default 0,
  children integer not null default 0,
  parts integer not null default 0,
  immediate integer not null default 0,
  joined text,
  stopped text,
  -- the last commit: who made it and its number
  lease blob,
  version integer not null,
  seq integer not null,
  created_at integer not null,
  started_at integer,
  updated_at integer not null,
  completed_at integer,
  deleted_at integer,
  delete_reason text,
  primary key (shard, id)
);
create index pawl_instance_status on pawl_instance (shard, status, id);
create index pawl_instance_workflow on pawl_instance (shard, workflow, status, id);
create index pawl_instance_business_key on pawl_instance (shard, business_key, id)
  where business_key is not null;
create index pawl_instance_correlation on pawl_instance (shard, correlation_id, id)
  where correlation_id is not null;
create index pawl_instance_tenant on pawl_instance (shard, tenant, id)
  where tenant is not null;
create index pawl_instance_parent on pawl_instance (shard, parent, id)
  where parent is not null;
create index pawl_instance_root on pawl_instance (shard, root, id)
  where root is not null;
create unique index pawl_instance_external
  on pawl_instance (shard, workflow, external_id, coalesce(tenant, ''))
  where external_id is not null and deleted_at is null;

create table pawl_agenda (
  shard integer not null,
  instance blob not null,
  workflow text not null,
  workflow_version integer not null,
  executor_group text not null,
  priority integer not null,
  ready integer not null,
  due_at integer not null,
  lease blob,
  executor blob,
  executor_before blob,
  due_before integer,
  takeovers integer not null,
  latch integer not null,
  primary key (shard, instance)
) without rowid;
create index pawl_agenda_ready on pawl_agenda
  (shard, executor_group, workflow, workflow_version, priority desc, due_at)
  where ready and lease is null and takeovers = 0;
create index pawl_agenda_suspect on pawl_agenda
  (shard, executor_group, workflow, workflow_version, priority desc, due_at)
  where ready and (lease is not null or takeovers > 0);
create index pawl_agenda_due on pawl_agenda (shard, due_at) where not ready;

-- One that begins is put on the agenda with it: PostgreSQL writes both tables
-- in one statement.
create trigger pawl_instance_begin after insert on pawl_instance
  when new.version = 0
begin
  insert into pawl_agenda (shard, instance, workflow, workflow_version,
         executor_group, priority, ready, due_at, takeovers, latch)
  values (new.shard, new.id, new.workflow, new.workflow_version,
          new.executor_group, new.priority,
          coalesce(new.token_due_at, new.created_at) <= new.created_at,
          coalesce(new.token_due_at, new.created_at), 0, 0);
end;

-- Variables of more than a few KB: the instance's column is null and its
-- `parts` above 0. A member of 1 KB or more has a row of its own, "=name"; the
-- others share as many rows as `parts` says, ":0" and on, by their names.
create table pawl_variable (
  shard integer not null,
  instance blob not null,
  part text not null,
  members text not null,
  primary key (shard, instance, part)
);

create table pawl_token (
  shard integer not null,
  instance blob not null,
  no integer not null,
  node text not null,
  state text not null,
  visit integer not null,
  previous_node text,
  parent integer,
  scope text not null,
  fork text,
  branch text,
  data text,
  event text,
  detail text,
  attempt integer not null,
  due_at integer,
  entered_at integer not null,
  primary key (shard, instance, no)
) without rowid;
create index pawl_token_live on pawl_token (shard, instance, no)
  where state in ('active', 'waiting');

-- Items of a dynamic fan-out: one row each, so that its cost is linear.
create table pawl_item (
  shard integer not null,
  instance blob not null,
  token integer not null,
  no integer not null,
  item text,
  state text not null,
  child blob,
  result text,
  error text,
  primary key (shard, instance, token, no)
) without rowid;

create table pawl_history (
  shard integer not null,
  instance blob not null,
  seq integer not null,
  type text not null,
  node text,
  token integer,
  visit integer,
  transition text,
  path text,
  attempt integer,
  caller text,
  executor blob,
  request blob,
  text text,
  output text,
  changes text,
  error text,
  started_at integer,
  completed_at integer not null,
  due_at integer,
  previous text,
  primary key (shard, instance, seq)
) without rowid;

-- Coming in and going out ---------------------------------------------------

create table pawl_inbox (
  shard integer not null,
  instance blob not null,
  no blob not null,
  kind text not null,
  name text,
  key text,
  event_id text,
  source text,
  caller text,
  data text,
  received_at integer not null,
  addressed integer not null default 0, -- sent to it by name: needs no key
  taken integer not null default 0,
  primary key (shard, instance, no)
) without rowid;
create unique index pawl_inbox_event on pawl_inbox
  (shard, instance, kind, event_id) where event_id is not null;
-- In the order of arrival: each is found beside very many of the others, and
-- an event that is waited for beside those of other names.
create index pawl_inbox_open on pawl_inbox
  (shard, instance, kind, received_at, no)
  where not taken and kind in ('child', 'task');
create index pawl_inbox_name on pawl_inbox
  (shard, instance, name, received_at, no)
  where not taken and kind = 'event';
create index pawl_inbox_request on pawl_inbox (shard, instance, received_at, no)
  where not taken and kind not in ('event', 'child', 'task');

create table pawl_subscription (
  shard integer not null,
  instance blob not null,
  token integer not null,
  pattern text not null,
  key text,
  since integer not null,
  due_at integer,
  primary key (shard, instance, token)
) without rowid;
create index pawl_subscription_match on pawl_subscription
  (shard, pattern, key, instance) where key is not null;
create index pawl_subscription_open on pawl_subscription
  (shard, pattern, instance) where key is null;

create table pawl_event (
  -- what is written later has a higher one, also behind what was deleted
  ord integer primary key autoincrement,
  shard integer not null,
  source text not null,
  id text not null,
  name text not null,
  key text,
  data text,
  came blob,
  routed integer not null,
  received_at integer not null,
  expires_at integer not null,
  unique (shard, source, id)
);
create index pawl_event_came on pawl_event (shard, key, received_at, came)
  where key is not null;
create index pawl_event_late on pawl_event (shard, key, ord)
  where key is not null;
create index pawl_event_expires on pawl_event (shard, expires_at);
create index pawl_event_unrouted on pawl_event (shard, received_at)
  where not routed;

create table pawl_message (
  shard integer not null,
  instance blob not null,
  seq integer not null,
  kind text not null,
  target blob not null,
  data text,
  created_at integer not null,
  primary key (shard, instance, seq)
) without rowid;

-- Written with the letter that asks a child to end with its parent; whoever
-- looks here takes that letter where nobody else does.
create table pawl_ending (
  shard integer not null,
  instance blob not null,
  due_at integer not null,
  tries integer not null,
  primary key (shard, instance)
) without rowid;
create index pawl_ending_due on pawl_ending (shard, due_at);

create table pawl_outbox (
  shard integer not null,
  instance blob not null,
  seq integer not null,
  type text not null,
  payload text,
  created_at integer not null,
  attempts integer not null,
  next_at integer not null,
  last_error text,
  published_at integer,
  primary key (shard, instance, seq)
);
create index pawl_outbox_unpublished on pawl_outbox
  (shard, next_at, instance, seq)
  where published_at is null;

-- People --------------------------------------------------------------------

create table pawl_task (
  shard integer not null,
  id blob not null,
  instance blob not null,
  token integer not null,
  node text not null,
  visit integer not null,
  schema_type text,
  title text not null,
  description text,
  status text not null,
  priority text not null,
  input text,
  output text,
  metadata text,
  signal_name text,
  error text,
  due_at integer,
  assignee text,
  delegated_by text,
  claimed_by text,
  claimed_at integer,
  completed_by text,
  completed_at integer,
  transition text,
  escalated_at integer,
  created_at integer not null,
  started_at integer,
  updated_at integer not null,
  -- the last change made by a person: its number, and who asked
  version integer not null default 0,
  request blob,
  primary key (shard, id)
);
create unique index pawl_task_visit on pawl_task
  (shard, instance, token, visit);
create index pawl_task_status on pawl_task (shard, status, id);
create index pawl_task_due on pawl_task (shard, status, due_at, id)
  where due_at is not null;
create index pawl_task_form on pawl_task (shard, schema_type, status, id)
  where schema_type is not null;
create index pawl_task_assignee on pawl_task (shard, assignee, status, id)
  where assignee is not null;
create index pawl_task_claimed on pawl_task (shard, claimed_by, status, id)
  where claimed_by is not null;

create table pawl_owner (
  shard integer not null,
  task blob not null,
  kind text not null,
  id text not null,
  open integer not null default 1,
  primary key (shard, task, kind, id)
) without rowid;
create index pawl_owner_id on pawl_owner (shard, kind, id, open, task);

-- What a role has to do is found beside all that it has done.
create trigger pawl_task_open after update of status on pawl_task
  when (old.status in ('pending', 'running'))
       <> (new.status in ('pending', 'running'))
begin
  update pawl_owner set open = new.status in ('pending', 'running')
   where shard = new.shard and task = new.id;
end;

-- What queries ask for ---------------------------------------------------------

create table pawl_attribute (
  shard integer not null,
  instance blob not null,
  name text not null,
  type text not null,
  text_value text,
  date_value integer,
  bytes_value blob,
  float_value, -- no type: REAL would lose the sign of -0.0
  number_value text,
  boolean_value integer,
  workflow text not null,
  updated_at integer not null,
  updated_by text,
  primary key (shard, instance, name),
  check ((text_value is not null)
         + (date_value is not null)
         + (bytes_value is not null)
         + (float_value is not null)
         + (number_value is not null)
         + (boolean_value is not null) = 1)
) without rowid;
create index pawl_attribute_text on pawl_attribute (shard, name, text_value)
  where text_value is not null;
create index pawl_attribute_number on pawl_attribute (shard, name, number_value)
  where number_value is not null;
create index pawl_attribute_date on pawl_attribute (shard, name, date_value)
  where date_value is not null;

-- Who works ------------------------------------------------------------------

create table pawl_executor (
  id blob primary key,
  host text not null,
  boot text not null,
  space text not null,
  pid integer not null,
  begun integer not null,
  executor_group text not null,
  started_at integer not null,
  active_at integer not null,
  expires_at integer not null,
  stopped_at integer,
  recovered_at integer
);

-- Which events start instances of a workflow.
create table pawl_trigger (
  pattern text not null,
  workflow text not null,
  version integer not null,
  primary key (pattern, workflow)
);
create index pawl_trigger_workflow on pawl_trigger (workflow);

-- Workflows, and prefixes of them, that claims skip.
create table pawl_suspension (
  code text not null,
  is_prefix integer not null,
  reason text,
  suspended_by text,
  suspended_at integer not null,
  primary key (is_prefix, code)
);

create table pawl_schedule (
  workflow text not null,
  name text not null,
  spec text not null,
  input text,
  options text,
  disabled integer not null,
  next_at integer,
  last_at integer,
  created_at integer not null,
  primary key (workflow, name)
);

-- Reading ---------------------------------------------------------------------

create view pawl_instances as
select lower(hex(id)) as id, shard,
       case when status = 'running' and started_at is null
            then 'created' else status end as status,
       workflow, workflow_version, tenant, priority, executor_group,
       business_key, correlation_id, external_id, parent, root, input,
       case when parts = 0 then variables
            else (select '{' || group_concat(v.members, ',') || '}'
                    from pawl_variable v
                   where v.shard = i.shard and v.instance = i.id) end
       as variables, output, error, metadata, state_text, cancellation, node,
       version, created_at, started_at, updated_at, completed_at
  from pawl_instance i where deleted_at is null;

create view pawl_tokens as
select shard, id as instance, token_no as no, node, token_state as state,
       visit, previous_node, null as parent, '' as scope, null as fork,
       null as branch, token_data as data, token_event as event,
       token_detail as detail, attempt, token_due_at as due_at, entered_at
  from pawl_instance where token_no is not null
union all
select shard, instance, no, node, state, visit, previous_node, parent, scope,
       fork, branch, data, event, detail, attempt, due_at, entered_at
  from pawl_token;
