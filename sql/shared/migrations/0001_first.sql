-- breaking: no
-- The first schema. Every key leads with the shard; times are timestamptz;
-- state is exact text in json columns (jsonb would reorder keys and lose -0.0).
-- Fill factors leave room for HOT updates: see docs/decisions.
-- Differs: SQLite has no schemas, so tables are named pawl_instance and so on;
-- times are integer microseconds since 1970 UTC, ids 16-byte blobs, json and
-- decimal numbers text, booleans 0 and 1. Narrow tables are clustered by their
-- key (without rowid).

-- only: postgres
-- `if not exists` would ask for the right to make schemas even where it does.
do $$ begin
  if not exists (select from pg_catalog.pg_namespace where nspname = 'pawl')
  then create schema pawl; end if;
end $$;

create table pawl.migration (
  number integer primary key,
  name text not null,
  breaking boolean not null,
  applied_at timestamptz not null
);
comment on table pawl.migration is 'migrations applied to this store';

create table pawl.meta (
  key text primary key,
  value text not null
);
comment on table pawl.meta is 'facts of the store itself: shards';

-- Definitions -------------------------------------------------------------

create table pawl.workflow (
  code text not null,
  version integer not null,
  revision integer not null,
  name text not null,
  description text not null,
  graph json not null,
  source text,
  bundle json not null,
  sha256 text not null,
  inline boolean not null,
  active boolean not null,
  current boolean not null,
  executor_group text,
  created_at timestamptz not null,
  modified_at timestamptz not null,
  by text,
  reason text,
  primary key (code, version, revision)
);
create unique index workflow_current on pawl.workflow (code, version)
  where current;
comment on table pawl.workflow is
  'definitions; current marks the revision that runs, older ones stay by hash';

-- Instances ---------------------------------------------------------------

-- An UPDATE on the same page logs what lies between the first and the last
-- byte that differ: so what stays comes first, then the variables (whose own
-- beginning may stay too), then what changes at every step. The fill factor
-- leaves room for two versions of each row: the older is pruned by the next.
create table pawl.instance (
  shard smallint not null,
  id uuid not null,
  workflow text not null,
  version integer not null,
  tenant text,
  priority smallint not null,
  executor_group text not null,
  business_key text, -- only: sqlite
  business_key text collate "C", -- only: postgres: beginnings are a range
  correlation text,
  key text,
  parent uuid,
  root uuid,
  parent_token integer,
  parent_visit bigint,
  parent_node text,
  parent_index integer,
  parent_end text,
  trigger_event text,
  trigger_source text,
  input json,
  metadata json,
  started_by text,
  created_at timestamptz not null,
  -- counters and marks of the whole instance
  tokens integer not null default 1,
  children integer not null default 0,
  parts integer not null default 0,
  sent bigint not null default 0,
  immediate bigint not null default 0,
  joined json,
  stopped json,
  compensation json,
  deadline_at timestamptz,
  suspended_at timestamptz,
  deletion json,
  deleted_at timestamptz,
  purge_at timestamptz,
  successor uuid,
  -- from the first commit on, and with each claim
  started_at timestamptz,
  lease uuid,
  status text not null check (status in ('running', 'waiting', 'completed',
    'created', 'suspended', 'failed', 'cancelled')),
  -- the lone token, while there is one; several are rows of pawl.token
  token_no integer,
  token_state text check (token_state in ('active', 'waiting')),
  attempt integer not null,
  variables json,
  node text,
  previous_node text,
  visit integer not null,
  token_data json,
  token_event json,
  token_detail json,
  token_due_at timestamptz,
  -- the last commit's number, and its last row of history
  commits integer not null,
  seq integer not null,
  entered_at timestamptz,
  updated_at timestamptz not null,
  output json,
  error json,
  progress text,
  cancellation json,
  completed_at timestamptz,
  primary key (shard, id)
) with (fillfactor = 30);
comment on table pawl.instance is
  'one execution of a workflow version; no column that changes at every step is in an index';
comment on column pawl.instance.trigger_event is
  'id of the event that started it, as it was sent by trigger_source';
comment on column pawl.instance.commits is
  'number of commits; the last one was made under lease';
comment on column pawl.instance.seq is 'last history number given out';
comment on column pawl.instance.deletion is
  'who has deleted it, and why; before deleted_at: it goes when it has ended';
comment on column pawl.instance.purge_at is
  'since when it is being purged: rows of it may be gone';
comment on column pawl.instance.successor is
  'the instance that was given its key';
create index instance_status on pawl.instance (shard, status, id); -- only: sqlite
create index instance_workflow -- only: sqlite
  on pawl.instance (shard, workflow, status, id); -- only: sqlite
create index instance_business_key on pawl.instance (shard, business_key, id)
  where business_key is not null;
create index instance_correlation on pawl.instance (shard, correlation, id)
  where correlation is not null;
create index instance_tenant on pawl.instance (shard, tenant, id)
  where tenant is not null;
create index instance_parent on pawl.instance (shard, parent, id)
  where parent is not null;
create index instance_root on pawl.instance (shard, root, id)
  where root is not null;
-- By an expression, which no other index has: what looks for the few that are
-- deleted would else walk the key, where the table was counted small.
create index instance_deleted on pawl.instance ((shard + 0), id)
  where deleted_at is not null;
-- Those that somebody has started, for the audit; by expressions, too.
create index instance_begun on pawl.instance ((shard + 1), created_at, id)
  where started_by is not null;
create index instance_started_by
  on pawl.instance ((shard + 0), started_by, created_at, id)
  where started_by is not null;
create unique index instance_key
  on pawl.instance (shard, key, workflow, coalesce(tenant, ''))
  where key is not null and deleted_at is null and successor is null;
create index instance_key_past on pawl.instance (shard, key, id)
  where successor is not null;

-- only: postgres
-- What instances are found by when a status is asked for. In a place of its
-- own: an ending would else write every index of the wide row.
create table pawl.standing (
  shard smallint not null,
  workflow text not null,
  status text not null check (status in ('running', 'waiting', 'completed',
    'created', 'suspended', 'failed', 'cancelled')),
  instance uuid not null,
  primary key (shard, workflow, status, instance)
) with (fillfactor = 50);
comment on table pawl.standing is
  'the status of each instance, as in pawl.instance: written with it';

-- How many have gone from one status to another, so that how many there are is
-- known without walking over them. A status is a stored one, or "deleted" of
-- those that are; '' before an instance came, "purged" and "transferred" behind
-- it. The node is told of those that wait or are suspended and stand in one
-- place, else ''. What is some while ago has the minute 1970.
-- Differs: on PostgreSQL each batch of a commit has rows of its own, since
-- neighbours would wait for each other at a row that is counted up; executors
-- fold them now and then. It has no key: all of it is read.
create table pawl.counter (
  shard smallint not null,
  workflow text not null,
  version integer not null,
  was text not null,
  was_node text not null,
  status text not null,
  node text not null,
  minute timestamptz not null,
  amount bigint not null
); -- only: postgres
  , primary key (shard, workflow, version, was, was_node, -- only: sqlite
                 status, node, minute) -- only: sqlite
) without rowid; -- only: sqlite
comment on table pawl.counter is
  'how many instances have gone from one status to another';

-- only: sqlite
-- Each that comes, changes its status or goes is counted; with rows that are
-- counted up, as one writer at a time waits for nobody.
create trigger pawl_instance_come after insert on pawl_instance
begin
  insert into pawl_counter (shard, workflow, version, was, was_node, status,
         node, minute, amount)
  values (new.shard, new.workflow, new.version, '', '',
          case when new.deleted_at is not null then 'deleted'
               else new.status end,
          case when new.deleted_at is null and new.token_no is not null
                    and new.status in ('waiting', 'suspended')
               then new.node else '' end,
          new.created_at - new.created_at % 60000000, 1)
  on conflict do update set amount = amount + 1;
end;
create trigger pawl_instance_turn after update of status on pawl_instance
  when new.deleted_at is null
       and (new.status <> old.status
            or new.status in ('waiting', 'suspended')
               and (new.node is not old.node
                    or (new.token_no is null) <> (old.token_no is null)))
begin
  insert into pawl_counter (shard, workflow, version, was, was_node, status,
         node, minute, amount)
  values (old.shard, old.workflow, old.version, old.status,
          case when old.token_no is not null
                    and old.status in ('waiting', 'suspended')
               then old.node else '' end,
          new.status,
          case when new.token_no is not null
                    and new.status in ('waiting', 'suspended')
               then new.node else '' end,
          new.updated_at - new.updated_at % 60000000, 1)
  on conflict do update set amount = amount + 1;
end;
create trigger pawl_instance_transfer after update of version on pawl_instance
  when new.version <> old.version and new.deleted_at is null
begin
  insert into pawl_counter (shard, workflow, version, was, was_node, status,
         node, minute, amount)
  select old.shard, old.workflow, v.version, v.was, v.was_node, v.status,
         v.node, new.updated_at - new.updated_at % 60000000, 1
    from (select old.version as version, new.status as was, n.node as was_node,
                 'transferred' as status, '' as node
            from (select case when new.token_no is not null
                                   and new.status in ('waiting', 'suspended')
                              then new.node else '' end as node) n
          union all
          select new.version, 'transferred', '', new.status,
                 case when new.token_no is not null
                           and new.status in ('waiting', 'suspended')
                      then new.node else '' end) v
   where true
  on conflict do update set amount = amount + 1;
end;
create trigger pawl_instance_delete after update of deleted_at
  on pawl_instance
  when (new.deleted_at is null) <> (old.deleted_at is null)
begin
  insert into pawl_counter (shard, workflow, version, was, was_node, status,
         node, minute, amount)
  values (new.shard, new.workflow, new.version,
          case when old.deleted_at is null then new.status else 'deleted' end,
          '',
          case when new.deleted_at is null then new.status else 'deleted' end,
          '', new.updated_at - new.updated_at % 60000000, 1)
  on conflict do update set amount = amount + 1;
end;
create trigger pawl_instance_purge after delete on pawl_instance
begin
  insert into pawl_counter (shard, workflow, version, was, was_node, status,
         node, minute, amount)
  values (old.shard, old.workflow, old.version,
          case when old.deleted_at is not null then 'deleted'
               else old.status end,
          case when old.deleted_at is null and old.token_no is not null
                    and old.status in ('waiting', 'suspended')
               then old.node else '' end,
          'purged', '', 0, 1)
  on conflict do update set amount = amount + 1;
end;
-- What goes is added to what is long ago.
create trigger pawl_counter_fold after delete on pawl_counter
  when old.minute > 0
begin
  insert into pawl_counter (shard, workflow, version, was, was_node, status,
         node, minute, amount)
  values (old.shard, old.workflow, old.version, old.was, old.was_node,
          old.status, old.node, 0, old.amount)
  on conflict do update set amount = amount + excluded.amount;
end;

-- Instances that have failed, or were suspended by an error, as they are now.
create table pawl.failure (
  shard smallint not null,
  instance uuid not null,
  workflow text not null,
  version integer not null,
  code text not null,
  node text not null,
  failed_at timestamptz not null,
  primary key (shard, instance)
);
-- The condition always holds: only what says so may use the index.
create index failure_code
  on pawl.failure (shard, workflow, code, node, failed_at)
  where failed_at is not null -- only: postgres
;
comment on table pawl.failure is
  'instances that have failed, or were suspended by an error, by its code';

create table pawl.agenda (
  shard smallint not null,
  instance uuid not null,
  workflow text not null,
  version integer not null,
  executor_group text not null,
  priority smallint not null,
  ready boolean not null,
  due_at timestamptz not null,
  lease uuid,
  executor uuid,
  was_executor uuid,
  was_due_at timestamptz,
  takeovers integer not null,
  latch integer not null,
  primary key (shard, instance)
) with (fillfactor = 45); -- only: postgres
) without rowid; -- only: sqlite
comment on table pawl.agenda is
  'what the engine must look at, and when; no row when nothing is scheduled';
comment on column pawl.agenda.due_at is
  'when to look: due work now, a retry, a timer, the end of a lease';
comment on column pawl.agenda.takeovers is
  'claims taken from a dead executor since the last commit';
comment on column pawl.agenda.latch is
  'raised by every wake-up that finds the row leased';
create index agenda_ready on pawl.agenda
  (shard, executor_group, workflow, version, priority desc, due_at)
  where ready and lease is null and takeovers = 0;
create index agenda_suspect on pawl.agenda
  (shard, executor_group, workflow, version, priority desc, due_at)
  where ready and (lease is not null or takeovers > 0);
create index agenda_due on pawl.agenda (shard, due_at) where not ready;

-- only: sqlite
-- One that begins is put on the agenda with it: PostgreSQL writes both tables
-- in one statement.
create trigger pawl_instance_begin after insert on pawl_instance
  when new.commits = 0
begin
  insert into pawl_agenda (shard, instance, workflow, version,
         executor_group, priority, ready, due_at, takeovers, latch)
  values (new.shard, new.id, new.workflow, new.version,
          new.executor_group, new.priority,
          coalesce(new.token_due_at, new.created_at) <= new.created_at,
          coalesce(new.token_due_at, new.created_at), 0, 0);
end;

-- Variables of more than a few KB: the instance's column is null and its
-- `parts` above 0. A member of 1 KB or more has a row of its own, "=name"; the
-- others share as many rows as `parts` says, ":0" and on, by their names.
create table pawl.variable (
  shard smallint not null,
  instance uuid not null,
  part text not null,
  members text not null,
  primary key (shard, instance, part)
) with (fillfactor = 50);
comment on column pawl.variable.members is
  'JSON without its braces: the object is all rows'' members, with commas';

create table pawl.token (
  shard smallint not null,
  instance uuid not null,
  no integer not null,
  node text not null,
  state text not null
    check (state in ('active', 'waiting', 'consumed', 'dropped')),
  visit bigint not null,
  previous_node text,
  parent integer,
  scope text not null,
  fork text,
  branch text,
  data json,
  event json,
  detail json,
  attempt integer not null,
  due_at timestamptz,
  entered_at timestamptz not null,
  primary key (shard, instance, no)
) with (fillfactor = 50); -- only: postgres
) without rowid; -- only: sqlite
comment on table pawl.token is
  'where an instance stands, when it stands in several places';
comment on column pawl.token.scope is
  'the forks it is in, outermost first, by the number of the token that forked';
comment on column pawl.token.detail is
  'what it waits for, and which rows of history led here';
create index token_live on pawl.token (shard, instance, no)
  where state in ('active', 'waiting');

-- Items of a dynamic fan-out: one row each, so that its cost is linear.
create table pawl.item (
  shard smallint not null,
  instance uuid not null,
  token integer not null,
  no integer not null,
  item json,
  state text not null,
  child uuid,
  result json,
  error json,
  primary key (shard, instance, token, no)
) with (fillfactor = 70); -- only: postgres
) without rowid; -- only: sqlite

-- The columns of fixed width first, so that none needs padding. A number is 32
-- bits wide: two thousand million rows of one instance are not expected.
create table pawl.history (
  shard smallint not null,
  instance uuid not null,
  seq integer not null,
  completed_at timestamptz not null,
  started_at timestamptz,
  token integer,
  visit integer,
  attempt integer,
  executor uuid,
  request uuid,
  type text not null,
  node text,
  transition text,
  path text,
  by text,
  text text,
  output json,
  changes json,
  error json,
  due_at timestamptz,
  previous json,
  primary key (shard, instance, seq)
); -- only: postgres
) without rowid; -- only: sqlite
comment on table pawl.history is
  'append-only: everything that happened to an instance';
comment on column pawl.history.path is
  'routing nodes passed after this one, and where the token stands now';
comment on column pawl.history.request is
  'the request that it answers: one that is sent again is known by it';
comment on column pawl.history.previous is
  'rows that led here, in order; null: the token''s row before';

-- What somebody asked for; steps have no entry here.
create index history_deed
  on pawl.history ((shard + 1), completed_at, instance, seq)
  where by is not null;
create index history_by
  on pawl.history ((shard + 0), by, completed_at, instance, seq)
  where by is not null;

create table pawl.audit (
  shard smallint not null,
  at timestamptz not null,
  id uuid not null,
  type text not null,
  by text,
  instance uuid,
  task uuid,
  workflow text,
  version integer,
  node text,
  tenant text,
  text text,
  primary key (shard, at, id)
); -- only: postgres
) without rowid; -- only: sqlite
create index audit_by on pawl.audit ((shard + 0), by, at, id)
  where by is not null;
create index audit_instance on pawl.audit ((shard + 1), instance, at, id)
  where instance is not null;
comment on table pawl.audit is
  'what somebody did that no history has: to tasks, workflows; and purges';

-- Coming in and going out ---------------------------------------------------

create table pawl.inbox (
  shard smallint not null,
  instance uuid not null,
  no uuid not null,
  kind text not null,
  -- names with one beginning stand together
  name text collate "C", -- only: postgres
  name text, -- only: sqlite
  key text,
  event_id text,
  source text,
  by text,
  data json,
  received_at timestamptz not null,
  addressed boolean not null default false,
  taken boolean not null default false,
  primary key (shard, instance, no)
); -- only: postgres
) without rowid; -- only: sqlite
create unique index inbox_event on pawl.inbox
  (shard, instance, kind, event_id) where event_id is not null;
-- In the order of arrival: each is found beside very many of the others, and
-- an event that is waited for beside those of other names.
create index inbox_open on pawl.inbox
  (shard, instance, kind, received_at, no)
  where not taken and kind in ('child', 'task');
create index inbox_name on pawl.inbox
  (shard, instance, name, received_at, no)
  where not taken and kind = 'event';
create index inbox_request on pawl.inbox (shard, instance, received_at, no)
  where not taken and kind not in ('event', 'child', 'task');
comment on table pawl.inbox is
  'what came from outside and was not yet taken by the lease''s holder';
comment on column pawl.inbox.addressed is
  'an event that was sent to this instance by name: it needs no key';
comment on column pawl.inbox.taken is
  'an event that was taken: its row stays, so that it is not taken again';

create table pawl.subscription (
  shard smallint not null,
  instance uuid not null,
  token integer not null,
  pattern text not null,
  key text,
  since timestamptz not null,
  due_at timestamptz,
  tenant text not null default '',
  primary key (shard, instance, token)
); -- only: postgres
) without rowid; -- only: sqlite
comment on column pawl.subscription.tenant is
  'the instance''s, or empty: an event is for those of its own tenant alone';
create index subscription_match on pawl.subscription
  (shard, tenant, pattern, key, instance) where key is not null;
create index subscription_open on pawl.subscription
  (shard, tenant, pattern, instance) where key is null;

create table pawl.event (
  -- what is written later has a higher one, also behind what was deleted
  ord integer primary key autoincrement, -- only: sqlite
  shard smallint not null,
  source text not null,
  id text not null,
  name text not null,
  key text,
  data json,
  came uuid,
  posted boolean not null,
  received_at timestamptz not null,
  expires_at timestamptz not null,
  tenant text not null default '',
  -- the transaction that wrote it: all below a snapshot's xmin are seen by it
  ord bigint not null default pg_current_xact_id()::text::bigint, -- only: postgres
  primary key (shard, source, id, tenant) -- only: postgres
  unique (shard, source, id, tenant) -- only: sqlite
);
create index event_came
  on pawl.event (shard, tenant, key, received_at, came)
  where key is not null;
create index event_late on pawl.event (shard, tenant, key, ord)
  where key is not null;
create index event_expires on pawl.event (shard, expires_at)
  where posted -- only: postgres
;
create index event_unposted on pawl.event (shard, received_at)
  where not posted;

create table pawl.message (
  shard smallint not null,
  instance uuid not null,
  seq bigint not null,
  kind text not null,
  target uuid not null,
  data json,
  created_at timestamptz not null,
  primary key (shard, instance, seq)
); -- only: postgres
) without rowid; -- only: sqlite

-- Written with the letter that asks a child to end with its parent; whoever
-- looks here takes that letter where nobody else does.
create table pawl.ending (
  shard smallint not null,
  instance uuid not null,
  due_at timestamptz not null,
  tries integer not null,
  primary key (shard, instance)
); -- only: postgres
) without rowid; -- only: sqlite
-- The condition always holds; only what names it may use this index. What looks
-- for certain instances in a table that was counted empty would walk it.
create index ending_due on pawl.ending (shard, due_at)
  where tries >= 0 -- only: postgres
;
comment on table pawl.ending is
  'children asked to end with their parent, until they were seen to';

create table pawl.outbox (
  shard smallint not null,
  instance uuid not null,
  seq bigint not null,
  type text not null,
  payload json,
  created_at timestamptz not null,
  attempts integer not null,
  due_at timestamptz not null,
  error text,
  published_at timestamptz,
  tenant text,
  lease uuid,
  dead_at timestamptz,
  by text,
  reason text,
  primary key (shard, instance, seq)
);
comment on table pawl.outbox is
  'what workflows emitted, and what became of it; see docs/decisions/0046';
comment on column pawl.outbox.due_at is
  'when to publish it: now, a retry, the end of a lease; at the end of time: it stands behind another of its instance, or is dead';
comment on column pawl.outbox.lease is
  'the relay''s that publishes this and what is behind it, or did so last';
comment on column pawl.outbox.published_at is
  'when it was accepted, or, with dead_at, dropped';
comment on column pawl.outbox.dead_at is
  'when it was set aside: the receiver did not accept it';
create index outbox_unpublished on pawl.outbox
  (shard, due_at, instance, seq)
  where published_at is null;
create index outbox_tenant on pawl.outbox
  (shard, tenant, due_at, instance, seq)
  where published_at is null and tenant is not null;
create index outbox_dead on pawl.outbox (shard, dead_at, instance, seq)
  where dead_at is not null and published_at is null;

-- People --------------------------------------------------------------------

create table pawl.task (
  shard smallint not null,
  id uuid not null,
  instance uuid not null,
  token integer not null,
  node text not null,
  visit bigint not null,
  form text,
  title text not null,
  description text,
  status text not null check (status in ('pending', 'running', 'completed',
    'failed', 'cancelled', 'timed_out')),
  priority text not null
    check (priority in ('normal', 'low', 'high', 'urgent')),
  input json,
  output json,
  metadata json,
  signal text,
  error json,
  due_at timestamptz,
  assignee text,
  delegated_by text,
  claimed_by text,
  claimed_at timestamptz,
  completed_by text,
  completed_at timestamptz,
  transition text,
  escalated_at timestamptz,
  created_at timestamptz not null,
  started_at timestamptz,
  updated_at timestamptz not null,
  -- the last change made by a person: its number, and who asked
  commits integer not null default 0,
  request uuid,
  log json,
  tenant text,
  workflow text,
  primary key (shard, id)
);
-- Conditions that always hold: only what says so may use the index.
create unique index task_visit on pawl.task (shard, instance, token, visit)
  where instance is not null -- only: postgres
;
create index task_status on pawl.task (shard, status, id)
  where status >= '' -- only: postgres
;
create index task_due on pawl.task (shard, status, due_at, id)
  where due_at is not null;
create index task_form on pawl.task (shard, form, status, id)
  where form is not null;
create index task_assignee on pawl.task (shard, assignee, status, id)
  where assignee is not null;
create index task_claimed on pawl.task (shard, claimed_by, status, id)
  where claimed_by is not null;
create index task_tenant on pawl.task (shard, tenant, status, id)
  where tenant is not null;
create index task_workflow on pawl.task (shard, workflow, status, id)
  where workflow is not null;

create table pawl.owner (
  shard smallint not null,
  task uuid not null,
  kind text not null check (kind in ('user', 'role', 'group')),
  id text not null,
  open boolean not null default true,
  primary key (shard, task, kind, id)
); -- only: postgres
) without rowid; -- only: sqlite
comment on table pawl.owner is
  'who may act on a task: kind is user, role or group';
comment on column pawl.owner.open is
  'is the task pending or running: kept by a trigger';
create index owner_id on pawl.owner (shard, kind, id, open, task)
  where id is not null -- only: postgres
;

-- only: postgres
-- What a role has to do is found beside all that it has done.
create function pawl.task_open() returns trigger language plpgsql
  set search_path = pg_catalog, pg_temp as $$
begin
  update pawl.owner set open = new.status in ('pending', 'running')
   where shard = new.shard and task = new.id;
  return null;
end $$;
create trigger task_open after update of status on pawl.task
  for each row
  when ((old.status in ('pending', 'running'))
        <> (new.status in ('pending', 'running')))
  execute function pawl.task_open();

-- only: sqlite
create trigger pawl_task_open after update of status on pawl_task
  when (old.status in ('pending', 'running'))
       <> (new.status in ('pending', 'running'))
begin
  update pawl_owner set open = new.status in ('pending', 'running')
   where shard = new.shard and task = new.id;
end;

-- What queries ask for ---------------------------------------------------------

create table pawl.attribute (
  shard smallint not null,
  instance uuid not null,
  name text not null,
  type text not null,
  text_value text,
  date_value timestamptz,
  bytes_value bytea,
  float_value double precision, -- only: postgres
  float_value, -- only: sqlite: REAL would lose the sign of -0.0
  number_value numeric,
  boolean_value boolean,
  sortable text, -- only: sqlite
  sortable text collate "C", -- only: postgres: as its bytes sort
  workflow text not null,
  updated_at timestamptz not null,
  primary key (shard, instance, name),
  check (num_nonnulls(text_value, date_value, bytes_value, -- only: postgres
           float_value, number_value, boolean_value) = 1) -- only: postgres
  check ((text_value is not null) + (date_value is not null) -- only: sqlite
    + (bytes_value is not null) + (float_value is not null) -- only: sqlite
    + (number_value is not null) -- only: sqlite
    + (boolean_value is not null) = 1) -- only: sqlite
); -- only: postgres
) without rowid; -- only: sqlite
comment on table pawl.attribute is
  'typed values of an instance; no foreign key, so that they may outlive it';
comment on column pawl.attribute.sortable is
  'the value as text that sorts like it, whatever its type; null: bytes';
create index attribute_value
  on pawl.attribute (shard, name, sortable, instance)
  where sortable is not null;

-- Who works ------------------------------------------------------------------

create table pawl.executor (
  id uuid primary key,
  host text not null,
  boot text not null,
  space text not null,
  pid bigint not null,
  begun bigint not null,
  executor_group text not null,
  started_at timestamptz not null,
  active_at timestamptz not null,
  expires_at timestamptz not null,
  stopped_at timestamptz,
  recovered_at timestamptz
);
comment on table pawl.executor is 'running worker processes, with a heartbeat';

create table pawl.housekeeper (
  no smallint primary key check (no = 1),
  executor uuid not null,
  expires_at timestamptz not null,
  due_at timestamptz not null,
  place text not null
);
comment on table pawl.housekeeper is
  'who prunes the store until expires_at, when the next may, and where';

-- Which events start instances of a workflow.
create table pawl.trigger (
  pattern text not null,
  workflow text not null,
  version integer not null,
  primary key (pattern, workflow)
);
create index trigger_workflow on pawl.trigger (workflow);

-- Workflows, and prefixes of them, that claims skip.
create table pawl.suspension (
  code text not null,
  is_prefix boolean not null,
  reason text,
  by text,
  suspended_at timestamptz not null,
  primary key (is_prefix, code)
);

-- Reading ---------------------------------------------------------------------

-- only: postgres
-- json text that jsonb cannot hold (\u0000...) reads as null, never as an error
create function pawl.as_jsonb(value json) returns jsonb
  language plpgsql immutable parallel safe
  set search_path = pg_catalog, pg_temp as $$
begin
  return value::jsonb;
exception when others then
  return null;
end $$;

-- What readers of the database may count on: names and meaning of these views'
-- columns stay, whatever becomes of the tables.
-- only: postgres
create view pawl.instance_view as
select id, shard,
       case when status = 'running' and started_at is null
            then 'created' else status end as status,
       workflow, version, tenant, priority, executor_group,
       business_key, correlation, key, started_by, parent, root,
       pawl.as_jsonb(input) as input,
       pawl.as_jsonb(case when parts = 0 then variables
         else (select ('{' || string_agg(v.members, ',') || '}')::json
                 from pawl.variable v
                where v.shard = i.shard and v.instance = i.id) end)
       as variables,
       pawl.as_jsonb(output) as output, pawl.as_jsonb(error) as error,
       pawl.as_jsonb(metadata) as metadata, progress,
       pawl.as_jsonb(cancellation) as cancellation,
       node, commits, created_at, started_at, updated_at, completed_at
  from pawl.instance i where deleted_at is null;

-- only: sqlite
create view pawl_instance_view as
select lower(hex(id)) as id, shard,
       case when status = 'running' and started_at is null
            then 'created' else status end as status,
       workflow, version, tenant, priority, executor_group,
       business_key, correlation, key, started_by, parent, root, input,
       case when parts = 0 then variables
            else (select '{' || group_concat(v.members, ',') || '}'
                    from pawl_variable v
                   where v.shard = i.shard and v.instance = i.id) end
       as variables, output, error, metadata, progress, cancellation, node,
       commits, created_at, started_at, updated_at, completed_at
  from pawl_instance i where deleted_at is null;

-- Where instances stand, whichever table has it; statements read it too.
create view pawl.token_view as
select shard, id as instance, token_no as no, node, token_state as state,
       visit, previous_node, null::integer as parent, '' as scope,
       null::text as fork, null::text as branch, token_data as data,
       token_event as event, token_detail as detail, attempt,
       token_due_at as due_at, entered_at
  from pawl.instance where token_no is not null
union all
select shard, instance, no, node, state, visit, previous_node, parent, scope,
       fork, branch, data, event, detail, attempt, due_at, entered_at
  from pawl.token;

-- only: postgres
create view pawl.step_view as
select i.shard, h.instance as instance, i.workflow, i.version, h.seq,
       h.node, h.token, h.visit, h.attempt, h.type,
       case h.type when 'failed' then 'failed' when 'timeout' then 'timed_out'
            when 'undone' then 'undone' else 'completed' end as status,
       h.transition, h.executor as executor, h.by, h.text,
       pawl.as_jsonb(h.output) as output, pawl.as_jsonb(h.changes) as changes,
       pawl.as_jsonb(h.error) as error,
       h.started_at, h.due_at, h.completed_at
  from pawl.history h
  join pawl.instance i on i.shard = h.shard and i.id = h.instance
 where i.deleted_at is null
   and h.type in ('step', 'received', 'timer', 'task', 'child', 'each',
                  'timeout', 'failed', 'undone')
union all
select i.shard, t.instance, i.workflow, i.version, null,
       t.node, t.no, t.visit, t.attempt, null, t.state,
       null, null, null, null, null, null, null,
       t.entered_at, t.due_at, null
  from pawl.token_view t
  join pawl.instance i on i.shard = t.shard and i.id = t.instance
 where i.deleted_at is null and t.state in ('active', 'waiting');

-- only: sqlite
create view pawl_step_view as
select i.shard, lower(hex(h.instance)) as instance, i.workflow, i.version,
       h.seq, h.node, h.token, h.visit, h.attempt, h.type,
       case h.type when 'failed' then 'failed' when 'timeout' then 'timed_out'
            when 'undone' then 'undone' else 'completed' end as status,
       h.transition, lower(hex(h.executor)) as executor, h.by, h.text,
       h.output as output, h.changes as changes, h.error as error,
       h.started_at, h.due_at, h.completed_at
  from pawl_history h
  join pawl_instance i on i.shard = h.shard and i.id = h.instance
 where i.deleted_at is null
   and h.type in ('step', 'received', 'timer', 'task', 'child', 'each',
                  'timeout', 'failed', 'undone')
union all
select i.shard, lower(hex(t.instance)), i.workflow, i.version, null,
       t.node, t.no, t.visit, t.attempt, null, t.state,
       null, null, null, null, null, null, null,
       t.entered_at, t.due_at, null
  from pawl_token_view t
  join pawl_instance i on i.shard = t.shard and i.id = t.instance
 where i.deleted_at is null and t.state in ('active', 'waiting');

-- only: postgres
create view pawl.task_view as
select t.shard, t.id as id, t.instance as instance, i.workflow,
       i.version, i.tenant, i.business_key, t.node, t.visit, t.form, t.title,
       t.description, t.status, t.priority, pawl.as_jsonb(t.input) as input,
       pawl.as_jsonb(t.output) as output, pawl.as_jsonb(t.error) as error,
       t.transition, t.assignee, t.claimed_by, t.claimed_at, t.completed_by, t.completed_at, t.due_at,
       t.escalated_at, t.created_at, t.started_at, t.updated_at
  from pawl.task t
  join pawl.instance i on i.shard = t.shard and i.id = t.instance
 where i.deleted_at is null;

-- only: sqlite
create view pawl_task_view as
select t.shard, lower(hex(t.id)) as id, lower(hex(t.instance)) as instance,
       i.workflow, i.version, i.tenant, i.business_key, t.node, t.visit, t.form, t.title,
       t.description, t.status, t.priority, t.input as input,
       t.output as output, t.error as error, t.transition, t.assignee,
       t.claimed_by, t.claimed_at, t.completed_by, t.completed_at, t.due_at,
       t.escalated_at, t.created_at, t.started_at, t.updated_at
  from pawl_task t
  join pawl_instance i on i.shard = t.shard and i.id = t.instance
 where i.deleted_at is null;

-- only: postgres
-- How statements are planned -----------------------------------------------------
-- None of ours is to launch parallel workers: it reads a few rows by their keys,
-- or a page. Said to the tables, it also holds where a session cannot be told,
-- behind a pooler. And a table that was counted with a row or two is not to make
-- the planner take the shard for a key.

-- only: postgres
do $$
declare t record;
begin
  for t in select c.table_name as name, k.column_name as shard
             from information_schema.tables c
             left join information_schema.columns k
               on k.table_schema = 'pawl' and k.table_name = c.table_name
              and k.column_name = 'shard'
            where c.table_schema = 'pawl' and c.table_type = 'BASE TABLE' loop
    execute format('alter table pawl.%I set (parallel_workers = 0)', t.name);
    if t.shard is not null then
      execute format('alter table pawl.%I alter column shard'
                     ' set (n_distinct = 1)', t.name);
    end if;
  end loop;
end $$;

-- only: postgres
-- First statistics ----------------------------------------------------------------
-- Until a table has been analyzed the planner takes "shard = 0" for one row in
-- 200, and walks a shard where it should use a key. A few rows, analyzed and
-- taken out again, tell it better from the first moment.

-- only: postgres
insert into pawl.instance (shard, id, status, workflow, version,
       priority, executor_group, visit, attempt, commits, seq, created_at,
       updated_at)
select 0, ('00000000-0000-7000-8000-' || lpad(to_hex(g), 12, '0'))::uuid,
       'running', 'w', 1, 0, 'default', 0, 0, 0, 0, now(), now()
  from generate_series(1, 200) g;
insert into pawl.standing (shard, workflow, status, instance)
select 0, 'w', (array['running', 'waiting', 'completed', 'failed'])
         [1 + (row_number() over (order by id))::integer % 4], id
  from pawl.instance;
insert into pawl.agenda (shard, instance, workflow, version,
       executor_group, priority, ready, due_at, takeovers, latch)
select 0, id, 'w', 1, 'default', 0, id::text < '00000000-0000-7000-8000-000000000064', now(),
       0, 0
  from pawl.instance;
insert into pawl.history (shard, instance, seq, type, completed_at)
select 0, id, 1, 'step', now() from pawl.instance;
insert into pawl.audit (shard, at, id, type, by, instance)
select 0, now(), id, 'claimed', id::text, id from pawl.instance;
insert into pawl.variable (shard, instance, part, members)
select 0, id, ':0', '' from pawl.instance;
insert into pawl.inbox (shard, instance, no, kind, received_at)
select 0, id, id, 'cancel', now() from pawl.instance;
insert into pawl.attribute (shard, instance, name, type, text_value, sortable,
       workflow, updated_at)
select 0, id, 'a', 'string', 'x', 's' || id::text, 'w', now()
  from pawl.instance;
insert into pawl.subscription (shard, instance, token, pattern, key, since)
select 0, id, 1, 'e', nullif(id::text, '00000000-0000-7000-8000-000000000001'),
       now()
  from pawl.instance;
insert into pawl.event (shard, source, id, name, key, posted, received_at,
       expires_at)
select 0, '', id::text, 'e', id::text, true, now(), now() from pawl.instance;
insert into pawl.task (shard, id, instance, token, node, visit, form,
       title, status, priority, due_at, assignee, claimed_by, created_at,
       updated_at)
select 0, id, id, 1, 'n', 1, id::text, 't',
       (array['pending', 'running', 'completed', 'failed'])
         [1 + (row_number() over (order by id))::integer % 4],
       'normal', now(), id::text, id::text, now(), now()
  from pawl.instance;
insert into pawl.owner (shard, task, kind, id)
select 0, id, 'user', id::text from pawl.instance;
analyze pawl.instance, pawl.standing, pawl.variable, pawl.agenda,
        pawl.history, pawl.audit, pawl.inbox, pawl.attribute,
        pawl.subscription, pawl.event, pawl.task, pawl.owner;
-- Not deleted: what is left of rows would make some indexes deeper than others.
truncate pawl.owner, pawl.task, pawl.event, pawl.subscription, pawl.attribute,
         pawl.inbox, pawl.audit, pawl.history, pawl.agenda, pawl.standing,
         pawl.variable, pawl.instance;
