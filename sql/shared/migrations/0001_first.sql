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
comment on column pawl.migration.number is 'its number: 1 and on';
comment on column pawl.migration.name is 'its file''s name';
comment on column pawl.migration.breaking is
  'programs that do not know it cannot use the store';
comment on column pawl.migration.applied_at is 'when it was applied';

create table pawl.meta (
  key text primary key,
  value text not null
);
comment on table pawl.meta is 'facts of the store itself: shards';
comment on column pawl.meta.key is 'which fact: shards';
comment on column pawl.meta.value is 'the fact, as text';

-- Drawn as the store is made; its copies have them, too. Readers need none.
create table pawl.secret (
  name text primary key,
  value text not null
);
comment on table pawl.secret is 'what nobody outside of the store may know';
comment on column pawl.secret.name is
  'what it is for: callback, by which tokens of ctx.callback are known';
comment on column pawl.secret.value is 'the secret';
insert into pawl.secret (name, value)
values ('callback', gen_random_uuid()::text || gen_random_uuid()::text);

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
  trust text not null,
  author text,
  grants json,
  active boolean not null,
  current boolean not null,
  executor_group text,
  created_at timestamptz not null,
  modified_at timestamptz not null,
  by text,
  reason text,
  switched_off boolean,
  primary key (code, version, revision)
);
comment on column pawl.workflow.trust is
  'trusted, limited or isolated: the most that it has where it runs from this row';
comment on column pawl.workflow.author is
  'whose file it is, as the host said; null: the host''s own';
comment on column pawl.workflow.grants is
  'what whoever loaded it last let it do; null: all. Told, and no right';
comment on column pawl.workflow.switched_off is
  'the code is: true: this version is active again once it is switched on';
create unique index workflow_current on pawl.workflow (code, version)
  where current;
create index workflow_retains on pawl.workflow (code)
  where current
    and strpos(graph::text, '"retain":') > 0; -- only: postgres
    and instr(graph, '"retain":') > 0; -- only: sqlite
comment on table pawl.workflow is
  'definitions; current marks the revision that runs, older ones stay by hash';
comment on column pawl.workflow.code is 'its name: what a start names';
comment on column pawl.workflow.version is 'its number; instances stay with theirs';
comment on column pawl.workflow.revision is
  '1 and on: a hot-fix of a version makes the next';
comment on column pawl.workflow.name is 'what it is called for people';
comment on column pawl.workflow.description is 'what it is for';
comment on column pawl.workflow.graph is
  'its nodes and transitions, as they are run and drawn';
comment on column pawl.workflow.source is
  'the text of its file; null: it was built within a program';
comment on column pawl.workflow.bundle is
  'the modules that its source needs, by name';
comment on column pawl.workflow.sha256 is
  'of source and bundle: what differs is not run';
comment on column pawl.workflow.inline is
  'it was built within a program, and runs only where that has loaded it';
comment on column pawl.workflow.active is 'it may be started';
comment on column pawl.workflow.current is
  'the revision that runs; one of each version';
comment on column pawl.workflow.executor_group is
  'the group of who registered it: what an event starts is in it';
comment on column pawl.workflow.modified_at is
  'when it was last switched on or off, or a revision came';
comment on column pawl.workflow.by is 'who did that';
comment on column pawl.workflow.reason is 'and why';

create table pawl.code (
  code text primary key,
  author text
);
comment on table pawl.code is 'who may define workflows of a name';
comment on column pawl.code.code is 'the name, of all versions';
comment on column pawl.code.author is
  'who defined it first, or took it since; null: the host itself';

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
  parent_place json,
  trigger_event text,
  trigger_source text,
  input json,
  metadata json,
  started_by text,
  lasts bigint,
  max_bytes bigint,
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
  away json,
  successor uuid,
  -- from the first commit on, and with each claim
  started_at timestamptz,
  lease uuid,
  status text not null
    check (status = 'running' or status = 'waiting' or status = 'completed'
      or status = 'created' or status = 'suspended' or status = 'failed'
      or status = 'cancelled'),
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
  progress_visit integer,
  cancellation json,
  completed_at timestamptz,
  primary key (shard, id)
) with (fillfactor = 30);
comment on table pawl.instance is
  'one execution of a workflow version; no column that changes at every step is in an index';
comment on column pawl.instance.id is 'a UUIDv7: drawn with the time';
comment on column pawl.instance.workflow is 'code of its workflow';
comment on column pawl.instance.version is
  'the version that it runs; a transfer changes it';
comment on column pawl.instance.priority is
  'those of a higher one are claimed first';
comment on column pawl.instance.executor_group is
  'executors of this group serve it';
comment on column pawl.instance.business_key is
  'the user''s own name for what it is about';
comment on column pawl.instance.correlation is
  'what it shares with what is about the same thing elsewhere';
comment on column pawl.instance.key is
  'a start with the same key gives this one';
comment on column pawl.instance.parent is 'the instance that started it';
comment on column pawl.instance.root is
  'the first of all: the parent''s parent, and so on';
comment on column pawl.instance.parent_place is
  'where in its parent: the node and the visit, the token that waits for it, the index of an each''s item; and the end, what becomes of it when its parent ends; ancestors, how many have begun each other from the first that is not trusted, which is all it has where nobody tracks it';
comment on column pawl.instance.trigger_source is
  'where the event that started it came from';
comment on column pawl.instance.input is 'what it was started with';
comment on column pawl.instance.metadata is
  'what its starter says of it; no workflow reads it';
comment on column pawl.instance.started_by is 'who started it';
comment on column pawl.instance.tokens is
  'the highest number of a token that was given out';
comment on column pawl.instance.children is
  'how many were started, and are to be told when it ends';
comment on column pawl.instance.parts is
  'into how many rows of variable the small variables go; 0: none are there';
comment on column pawl.instance.sent is
  'how many messages and rows of the outbox it has written';
comment on column pawl.instance.immediate is
  'steps in a row, where the workflow limits them';
comment on column pawl.instance.joined is
  'joins that have fired while siblings still run';
comment on column pawl.instance.stopped is
  'its tokens as they stood when it failed';
comment on column pawl.instance.compensation is
  'how far the undoing is, and how the instance ends then';
comment on column pawl.instance.lasts is
  'microseconds from its beginning until its deadline, as its start says, or a function of its workflow that was asked as it began (a thousand years: it has none); null: as its workflow says';
comment on column pawl.instance.max_bytes is
  'how many its variables may have, as its start says; null: as its executor says';
comment on column pawl.instance.deadline_at is
  'when it fails, if it has not ended';
comment on column pawl.instance.suspended_at is 'since when it is suspended';
comment on column pawl.instance.deleted_at is 'since when it is hidden';
comment on column pawl.instance.started_at is
  'when its first step began; null: it has not begun';
comment on column pawl.instance.lease is
  'the lease under which the last commit was made';
comment on column pawl.instance.status is
  'running until started_at is set means created';
comment on column pawl.instance.token_no is
  'the number of the token that is told here; null: see token';
comment on column pawl.instance.token_state is 'of that token';
comment on column pawl.instance.attempt is 'of that token: tries in this visit';
comment on column pawl.instance.variables is 'its data; null: see parts';
comment on column pawl.instance.node is 'where that token stands';
comment on column pawl.instance.previous_node is 'where it came from';
comment on column pawl.instance.visit is
  'the highest number of a visit that was given out';
comment on column pawl.instance.token_data is 'what its node keeps there';
comment on column pawl.instance.token_event is
  'the event that it has taken last';
comment on column pawl.instance.token_detail is
  'what it waits for, and which rows of history led there';
comment on column pawl.instance.token_due_at is 'when its time is up';
comment on column pawl.instance.entered_at is 'when it came to its node';
comment on column pawl.instance.updated_at is 'when it was last committed';
comment on column pawl.instance.output is 'what it ended with';
comment on column pawl.instance.error is 'why it failed, or was suspended';
comment on column pawl.instance.progress is
  'what a handler says of how far it is';
comment on column pawl.instance.progress_visit is
  'of which visit: its next attempt is given it';
comment on column pawl.instance.cancellation is
  'who has cancelled it, why, when';
comment on column pawl.instance.completed_at is 'when it ended';
comment on column pawl.instance.trigger_event is
  'id of the event that started it, as it was sent by trigger_source';
comment on column pawl.instance.commits is
  'number of commits; the last one was made under lease';
comment on column pawl.instance.seq is 'last history number given out';
comment on column pawl.instance.deletion is
  'who has deleted it, and why; before deleted_at: it goes when it has ended';
comment on column pawl.instance.purge_at is
  'since when it is being purged: rows of it may be gone';
comment on column pawl.instance.away is
  'who has carried it to another store, and why: here it stands still';
comment on column pawl.instance.successor is
  'the instance that was given its key';
create index instance_workflow -- only: sqlite
  on pawl.instance (shard, workflow, status, id); -- only: sqlite
create index instance_business_key on pawl.instance (shard, business_key, id)
  where business_key is not null;
create index instance_correlation on pawl.instance (shard, correlation, id)
  where correlation is not null;
create index instance_tenant on pawl.instance (shard, tenant, id)
  where tenant is not null;
-- Most are served by whoever names no group, which is called so.
create index instance_group on pawl.instance (shard, executor_group, id)
  where executor_group <> 'default';
create index instance_parent on pawl.instance (shard, parent, id)
  where parent is not null;
create index instance_root on pawl.instance (shard, root, id)
  where root is not null;
-- By an expression, which no other index has: what looks for the few that are
-- deleted would else walk the key, where the table was counted small.
create index instance_deleted on pawl.instance ((shard + 0), id)
  where deleted_at is not null;
-- Those that were cancelled, by whom, and undone, by how that stands: few
-- instances have either. In the words of fragments cancelled_so and undone_so,
-- as text: what JSON cannot be read may be told as a reason.

-- only: postgres
create function pawl.cancelled_so(cancellation json) returns text
  language sql immutable strict parallel safe
  set search_path = pg_catalog, pg_temp as $$
  select substr(c, strpos(c, ',"by":'),
                greatest(strpos(c, ',"source":') - strpos(c, ',"by":') + 1, 0))
    from (select cancelled_so.cancellation::text as c) t
$$;

-- only: postgres
create function pawl.undone_so(compensation json) returns text
  language sql immutable strict parallel safe
  set search_path = pg_catalog, pg_temp as $$
  select left(c, strpos(c, ','))
    from (select undone_so.compensation::text as c) t
$$;

-- for all
create index instance_cancelled on pawl.instance ((shard + 0),
  (pawl.cancelled_so(cancellation)), id) -- only: postgres
  substr(cancellation, instr(cancellation, ',"by":'), -- only: sqlite
         instr(cancellation, ',"source":') -- only: sqlite
         - instr(cancellation, ',"by":') + 1), id) -- only: sqlite
  where cancellation is not null;
create index instance_undone on pawl.instance ((shard + 0),
  (pawl.undone_so(compensation)), id) -- only: postgres
  substr(compensation, 1, instr(compensation, ',')), id) -- only: sqlite
  where compensation is not null;

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
  status text not null
    check (status = 'running' or status = 'waiting' or status = 'completed'
      or status = 'created' or status = 'suspended' or status = 'failed'
      or status = 'cancelled'),
  instance uuid not null,
  primary key (shard, workflow, status, instance)
) with (fillfactor = 50);
comment on table pawl.standing is
  'the status of each instance, as in instance: written with it';
comment on column pawl.standing.status is 'as in instance';

-- only: postgres
-- Whom to tell that an instance has ended, or answered: by a notification with its id, in the
-- commit that ends it. Who waits for one puts it here, and looks afterwards.
create table pawl.waiter (
  shard smallint not null,
  instance uuid not null,
  expires_at timestamptz not null,
  primary key (shard, instance)
);
comment on table pawl.waiter is
  'instances whose end somebody waits for: who ends one tells so';
comment on column pawl.waiter.expires_at is 'until when somebody waits, at most';

-- How many have gone from one status to another, so that how many there are is
-- known without walking over them. A status is a stored one, or "deleted" of
-- those that are; '' before an instance came, "archived", "purged" and
-- "transferred" behind it. The node is told of those that wait or are suspended and stand in one
-- place, else ''. What is some while ago has the minute 1970.
-- Differs: on PostgreSQL each batch of a commit has rows of its own, since
-- neighbours would wait for each other at a row that is counted up; executors
-- fold them now and then. It has no key: all of it is read.
create table pawl.counter (
  shard smallint not null,
  workflow text not null,
  version integer not null,
  was text not null
    check (was = 'running' or was = '' or was = 'waiting' or was = 'completed'
      or was = 'created' or was = 'suspended' or was = 'failed'
      or was = 'cancelled' or was = 'deleted' or was = 'archived'
      or was = 'transferred'),
  was_node text not null,
  status text not null
    check (status = 'running' or status = 'waiting' or status = 'completed'
      or status = 'created' or status = 'suspended' or status = 'failed'
      or status = 'cancelled' or status = 'deleted' or status = 'archived'
      or status = 'transferred' or status = 'purged'),
  node text not null,
  minute timestamptz not null,
  amount bigint not null
); -- only: postgres
  , primary key (shard, workflow, version, was, was_node, -- only: sqlite
                 status, node, minute) -- only: sqlite
) without rowid; -- only: sqlite
comment on table pawl.counter is
  'how many instances have gone from one status to another';
comment on column pawl.counter.was is 'the status before; empty: it came';
comment on column pawl.counter.was_node is 'where it stood then';
comment on column pawl.counter.status is 'the status after';
comment on column pawl.counter.node is
  'where it stands now, if it waits or is suspended in one place';
comment on column pawl.counter.minute is
  'in which minute; 1970: some while ago';
comment on column pawl.counter.amount is 'how many did so';

-- only: sqlite
-- Each that comes or goes is counted; with rows that are counted up, as one
-- writer at a time waits for nobody. What changes a status counts by itself.
create trigger pawl_instance_come after insert on pawl_instance
begin
  insert into pawl_counter (shard, workflow, version, was, was_node, status,
         node, minute, amount)
  select new.shard, new.workflow, new.version,
         case when b.is_back then 'archived' else '' end, '',
         case when new.deleted_at is not null then 'deleted'
              else new.status end,
         case when new.deleted_at is null and new.token_no is not null
                   and new.status in ('waiting', 'suspended')
              then new.node else '' end,
         case when b.is_back then 0
              else new.created_at - new.created_at % 60000000 end, 1
    from (select new.commits > 0 and exists (
                   select 1 from pawl_archive
                    where shard = new.shard and id = new.id) as is_back) b
   where true
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
          case when exists (select 1 from pawl_archive
                             where shard = old.shard and id = old.id
                               and purged_at is null)
               then 'archived' else 'purged' end, '', 0, 1)
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
  code text not null, -- only: sqlite
  code text collate "C" not null, -- only: postgres: beginnings are a range
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
comment on column pawl.failure.code is 'the error''s code';
comment on column pawl.failure.node is 'where it failed';
comment on column pawl.failure.failed_at is 'when';

-- By when those that live must have ended. Beside the wide row, whose first
-- step and end would else write every index of it.
create table pawl.deadline (
  shard smallint not null,
  instance uuid not null,
  deadline_at timestamptz not null,
  primary key (shard, instance)
); -- only: postgres
) without rowid; -- only: sqlite
-- The condition always holds: only what says so may use the index.
create index deadline_due on pawl.deadline (shard, deadline_at)
  where deadline_at is not null -- only: postgres
;
comment on table pawl.deadline is
  'instances that live and have a deadline: written with it and with the end';
comment on column pawl.deadline.deadline_at is 'as in instance';

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
comment on column pawl.agenda.priority is 'as in instance';
comment on column pawl.agenda.executor_group is 'as in instance';
comment on column pawl.agenda.ready is
  'due, and nobody holds it: it may be claimed';
comment on column pawl.agenda.lease is 'the lease of who holds it';
comment on column pawl.agenda.executor is 'who holds it';
comment on column pawl.agenda.was_executor is 'who held it before';
comment on column pawl.agenda.was_due_at is
  'what due_at was before it was claimed';
comment on column pawl.agenda.due_at is
  'when to look: due work now, a retry, a timer, the end of a lease; of what is ready, its place in line';
comment on column pawl.agenda.takeovers is
  'claims taken from a dead executor since the last commit; one less while its handler waits, and others run beside it';
comment on column pawl.agenda.latch is
  'raised by every wake-up that finds the row leased';
create index agenda_ready on pawl.agenda
  (shard, executor_group, workflow, version, priority desc, due_at)
  where ready and lease is null and takeovers = 0;
create index agenda_suspect on pawl.agenda
  (shard, executor_group, workflow, version, priority desc, due_at)
  where ready and (lease is not null or takeovers > 0);
create index agenda_due on pawl.agenda (shard, due_at) where not ready;

-- only: postgres
-- Who wakes one has read its instance, and then waits for whoever holds the
-- agenda row: that may take the instance away. So it is looked at again, under
-- the row's lock. (Plans are made while tables are empty, and kept.)
create function pawl.agenda_strays() returns trigger language plpgsql
  set search_path = pg_catalog, pg_temp set enable_seqscan = off as $$
begin
  if not exists (select 1 from pawl.instance
                  where shard = new.shard and id = new.instance) then
    delete from pawl.agenda
     where shard = new.shard and instance = new.instance;
  end if;
  return null;
end $$;
create trigger agenda_strays after insert on pawl.agenda
  for each row when (new.latch > 0)
  execute function pawl.agenda_strays();

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
comment on table pawl.variable is
  'variables of instances that have more than a few KB';
comment on column pawl.variable.part is
  '"=name" of a large one; ":0" and on, of those that are small';
comment on column pawl.variable.members is
  'JSON without its braces: the object is all rows'' members, with commas';

-- What handlers show of an instance, and what they answer to events: {"value"}
-- or {"error"}, by the event's id; there as long as the instance.
create table pawl.published (
  shard smallint not null,
  instance uuid not null,
  answers boolean not null,
  name text not null,
  value json not null,
  updated_at timestamptz not null,
  primary key (shard, instance, answers, name)
);
comment on table pawl.published is
  'what handlers show of an instance, and what they answer to events';
comment on column pawl.published.answers is
  'to an event, whose id is the name';
comment on column pawl.published.name is
  'as the handler calls it, or the event''s id';
comment on column pawl.published.value is
  'the last of that name; of an answer {"value"} or {"error"}';
comment on column pawl.published.updated_at is 'when it was shown';

create table pawl.token (
  shard smallint not null,
  instance uuid not null,
  no integer not null,
  node text not null,
  state text not null
    check (state = 'active' or state = 'waiting' or state = 'consumed'
      or state = 'dropped'),
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
  created_at timestamptz,
  progress text,
  primary key (shard, instance, no)
) with (fillfactor = 50); -- only: postgres
) without rowid; -- only: sqlite
comment on table pawl.token is
  'where an instance stands, when it stands in several places';
comment on column pawl.token.no is 'its number in the instance';
comment on column pawl.token.node is 'where it stands';
comment on column pawl.token.state is
  'active: to be run; waiting: for something; consumed and dropped: gone';
comment on column pawl.token.visit is
  'the number of its passage through the node';
comment on column pawl.token.previous_node is 'where it came from';
comment on column pawl.token.parent is 'the token that forked';
comment on column pawl.token.fork is 'the fork whose branch it is in';
comment on column pawl.token.branch is 'which branch that is';
comment on column pawl.token.data is 'what its node keeps there';
comment on column pawl.token.event is 'the event that it has taken last';
comment on column pawl.token.attempt is 'tries in this visit';
comment on column pawl.token.due_at is 'when its time is up';
comment on column pawl.token.entered_at is 'when it came to the node';
comment on column pawl.token.scope is
  'the forks it is in, outermost first, by the number of the token that forked';
comment on column pawl.token.detail is
  'what it waits for, and which rows of history led here';
comment on column pawl.token.created_at is
  'when it was made; null: the first one, as its instance began';
comment on column pawl.token.progress is
  'what its handler has said, before that of another place did';
create index token_live on pawl.token (shard, instance, no)
  where state in ('active', 'waiting');

-- Items of a dynamic fan-out: one row each, so that its cost is linear.
create table pawl.item (
  shard smallint not null,
  instance uuid not null,
  token integer not null,
  no integer not null,
  item json,
  state text not null
    check (state = 'open' or state = 'started' or state = 'done'
      or state = 'failed'),
  child uuid,
  result json,
  error json,
  primary key (shard, instance, token, no)
) with (fillfactor = 70); -- only: postgres
) without rowid; -- only: sqlite
comment on table pawl.item is 'the items of a dynamic fan-out, one row each';
comment on column pawl.item.token is 'the token that fans out';
comment on column pawl.item.no is 'its place among the items';
comment on column pawl.item.item is 'what is given to its handler or child';
comment on column pawl.item.state is 'where it is on its way';
comment on column pawl.item.child is 'the instance that was started for it';
comment on column pawl.item.result is 'what came of it';
comment on column pawl.item.error is 'why it failed';

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
);
comment on table pawl.history is
  'everything that happened to an instance: rows are added, and of a long one trimmed';
comment on column pawl.history.seq is
  '1 and on: the order in which it happened; 0: what tells of rows that were trimmed';
comment on column pawl.history.completed_at is 'when it was over';
comment on column pawl.history.started_at is 'when it began';
comment on column pawl.history.token is 'whose token it was';
comment on column pawl.history.visit is 'in which passage through the node';
comment on column pawl.history.attempt is 'which try it was';
comment on column pawl.history.executor is 'who ran it';
comment on column pawl.history.type is
  'what happened: step, failed, timer, received...';
comment on column pawl.history.node is 'where';
comment on column pawl.history.transition is 'by which way the token went on';
comment on column pawl.history.by is 'who asked for it';
comment on column pawl.history.text is
  'what is said of it: of a request its reason';
comment on column pawl.history.output is 'what the handler returned';
comment on column pawl.history.changes is
  'the variables and attributes that it changed; of an event that was received, its id, source and key';
comment on column pawl.history.error is 'why it failed';
comment on column pawl.history.due_at is
  'until when it had waited at the longest';
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
create index history_told
  on pawl.history ((shard + 2), instance, completed_at, seq)
  where by is not null;

create table pawl.audit (
  shard smallint not null,
  at timestamptz not null,
  id uuid not null,
  seq integer not null default 0,
  type text not null,
  by text,
  instance uuid,
  task uuid,
  workflow text,
  version integer,
  node text,
  tenant text,
  text text,
  request uuid,
  primary key (shard, at, id, seq)
); -- only: postgres
) without rowid; -- only: sqlite
create index audit_by on pawl.audit ((shard + 0), by, at, id, seq)
  where by is not null;
create index audit_instance
  on pawl.audit ((shard + 1), instance, at, id, seq)
  where instance is not null;
-- Whether a request was met: beside very many entries of one instance.
create index audit_request on pawl.audit ((shard + 1), instance, request)
  where request is not null;
comment on table pawl.audit is
  'what somebody did that no history has: to tasks, workflows, what was emitted, is archived or trimmed; and imports, purges and prunes';
comment on column pawl.audit.at is 'when';
comment on column pawl.audit.id is
  'the entry''s own; the instance''s: a row of its history, archived or trimmed, tells of it';
comment on column pawl.audit.seq is 'the row of that history; 0: of none';
comment on column pawl.audit.type is 'what was done';
comment on column pawl.audit.by is 'who did it';
comment on column pawl.audit.task is 'to which task';
comment on column pawl.audit.node is 'at which node';
comment on column pawl.audit.text is 'what is said of it: the reason';
comment on column pawl.audit.request is
  'the request that it answers, of what leaves no row of history';

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
-- an event that is waited for beside those of other names and keys.
create index inbox_open on pawl.inbox
  (shard, instance, kind, received_at, no)
  where not taken and kind in ('child', 'task');
create index inbox_name on pawl.inbox
  (shard, instance, name, key, received_at, no)
  where not taken and kind = 'event';
create index inbox_request on pawl.inbox (shard, instance, received_at, no)
  where not taken and kind not in ('event', 'child', 'task');
comment on table pawl.inbox is
  'what came from outside and was not yet taken by the lease''s holder';
comment on column pawl.inbox.no is 'a UUIDv7: in the order of arrival';
comment on column pawl.inbox.kind is
  'event, child, task, or what is asked for: cancel, suspend...';
comment on column pawl.inbox.name is 'of an event its name';
comment on column pawl.inbox.key is 'of an event its key';
comment on column pawl.inbox.event_id is 'of an event its id: it comes once';
comment on column pawl.inbox.source is 'of an event where it came from';
comment on column pawl.inbox.by is 'who sent or asked';
comment on column pawl.inbox.data is 'what came with it';
comment on column pawl.inbox.received_at is 'when it came';
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
  free boolean,
  primary key (shard, instance, token)
); -- only: postgres
) without rowid; -- only: sqlite
comment on table pawl.subscription is 'what a token listens for';
comment on column pawl.subscription.token is
  'which token; 2^30 more: what moves its time; 0 and below: what cancels the instance';
comment on column pawl.subscription.pattern is
  'the event''s name, or what its name begins with';
comment on column pawl.subscription.key is 'the event''s key; null: any';
comment on column pawl.subscription.since is
  'events that came earlier are not for it';
comment on column pawl.subscription.due_at is 'until when it listens';
comment on column pawl.subscription.tenant is
  'the instance''s, or empty: an event is for those of its own tenant alone';
comment on column pawl.subscription.free is
  'of those of which one is told of an event: nothing was assigned to it that it has not dealt with; null: it is told of each';
create index subscription_match on pawl.subscription
  (shard, tenant, pattern, key, instance)
  where key is not null and free is null;
create index subscription_free on pawl.subscription
  (shard, tenant, pattern, key, since, instance)
  where key is not null and free;
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
  by text,
  came uuid,
  posted boolean not null,
  received_at timestamptz not null,
  expires_at timestamptz not null,
  tenant text not null default '',
  taker uuid,
  assigned_at timestamptz,
  assigned_from timestamptz,
  -- the transaction that wrote it: all below a snapshot's xmin are seen by it
  ord bigint not null default pg_current_xact_id()::text::bigint, -- only: postgres
  primary key (shard, source, id, tenant) -- only: postgres
  unique (shard, source, id, tenant) -- only: sqlite
);
comment on table pawl.event is
  'events that were sent in: known again when they are sent twice, and kept for waits that begin later';
comment on column pawl.event.ord is
  'in the order of their commits: who looks again begins behind what it saw';
comment on column pawl.event.source is 'where it came from';
comment on column pawl.event.id is 'its id there';
comment on column pawl.event.name is 'what has happened';
comment on column pawl.event.key is 'which waits it is meant for';
comment on column pawl.event.data is 'what came with it';
comment on column pawl.event.by is 'who sent it';
comment on column pawl.event.came is
  'a UUIDv7: the place in the order of arrival';
comment on column pawl.event.posted is
  'it is in the inboxes of all that it was meant for';
comment on column pawl.event.received_at is 'when it came';
comment on column pawl.event.expires_at is 'when it may be forgotten';
comment on column pawl.event.tenant is 'whose it is; empty: nobody''s';
comment on column pawl.event.taker is
  'the instance that has it, of those whose waits take one for all';
comment on column pawl.event.assigned_at is
  'when it was last assigned to one of those, as long as none has it';
comment on column pawl.event.assigned_from is
  'since when that is tried, at intervals that double';
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
create index event_assigned on pawl.event (shard, assigned_at)
  where assigned_at is not null;

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
comment on table pawl.message is
  'what an instance asks of another, until it is delivered';
comment on column pawl.message.seq is 'its number: it is delivered once';
comment on column pawl.message.kind is
  'what is asked: start, its result, cancel...';
comment on column pawl.message.target is 'the instance that is asked';
comment on column pawl.message.data is 'what goes with it';
comment on column pawl.message.created_at is
  'when it was written: for people who look why it is not delivered';

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
comment on column pawl.ending.due_at is 'when to look again';
comment on column pawl.ending.tries is 'how often it was looked at';

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
comment on column pawl.outbox.seq is
  'its number: the order in which it is published';
comment on column pawl.outbox.type is
  'what is emitted, as a CloudEvent''s type';
comment on column pawl.outbox.payload is
  'the event''s data, and what else it has';
comment on column pawl.outbox.created_at is 'when it was emitted';
comment on column pawl.outbox.attempts is 'how often it was handed over';
comment on column pawl.outbox.error is 'what the receiver said last';
comment on column pawl.outbox.by is 'who has dropped it, or had it tried again';
comment on column pawl.outbox.reason is 'and why';
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
create index outbox_delayed on pawl.outbox (shard, created_at)
  where due_at > created_at and lease is null and dead_at is null
    and published_at is null;

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
  status text not null
    check (status = 'pending' or status = 'running' or status = 'completed'
      or status = 'failed' or status = 'cancelled' or status = 'timed_out'),
  priority text not null
    check (priority = 'normal' or priority = 'low' or priority = 'high'
      or priority = 'urgent'),
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
comment on table pawl.task is 'work for people, one row each';
comment on column pawl.task.id is 'a UUIDv7';
comment on column pawl.task.token is 'whose token waits for it';
comment on column pawl.task.node is 'at which node';
comment on column pawl.task.visit is 'in which visit';
comment on column pawl.task.form is 'with what it is done';
comment on column pawl.task.title is 'what it is called';
comment on column pawl.task.description is 'what is to be done';
comment on column pawl.task.status is 'where it is on its way';
comment on column pawl.task.priority is 'how urgent it is';
comment on column pawl.task.input is 'what the person is given';
comment on column pawl.task.output is 'what the person has made of it';
comment on column pawl.task.metadata is 'what its workflow says of it beside';
comment on column pawl.task.signal is 'the event that is sent when it is done';
comment on column pawl.task.error is 'why it failed';
comment on column pawl.task.due_at is 'until when it is to be done';
comment on column pawl.task.assignee is 'whom it was assigned to';
comment on column pawl.task.delegated_by is 'who passed it on';
comment on column pawl.task.claimed_by is 'who is at it';
comment on column pawl.task.claimed_at is 'since when';
comment on column pawl.task.completed_by is 'who ended it';
comment on column pawl.task.completed_at is 'when it ended';
comment on column pawl.task.transition is 'the way that its person chose';
comment on column pawl.task.escalated_at is
  'when it was late, and that was told';
comment on column pawl.task.created_at is 'when it came';
comment on column pawl.task.started_at is 'when somebody began';
comment on column pawl.task.updated_at is 'when it last changed';
comment on column pawl.task.commits is 'how often people have changed it';
comment on column pawl.task.request is
  'the last change that was asked for: sent again, it is known';
comment on column pawl.task.log is 'who had it before, and who changed it';
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
  kind text not null
    check (kind = 'user' or kind = 'role' or kind = 'group'),
  id text not null,
  open boolean not null default true,
  primary key (shard, task, kind, id)
); -- only: postgres
) without rowid; -- only: sqlite
comment on table pawl.owner is
  'who may act on a task: kind is user, role or group';
comment on column pawl.owner.task is 'for which task';
comment on column pawl.owner.kind is 'user, role or group';
comment on column pawl.owner.id is 'which one';
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
comment on column pawl.attribute.name is 'its name';
comment on column pawl.attribute.type is
  'string, integer, decimal, float, date, boolean or binary';
comment on column pawl.attribute.text_value is 'a string, as it was given';
comment on column pawl.attribute.date_value is 'a date';
comment on column pawl.attribute.bytes_value is 'bytes';
comment on column pawl.attribute.float_value is 'a float';
comment on column pawl.attribute.number_value is
  'an integer or a decimal, exactly';
comment on column pawl.attribute.boolean_value is 'a boolean';
comment on column pawl.attribute.updated_at is
  'when it was last set: where it has outlived its instance, no history says so';
comment on column pawl.attribute.sortable is
  'the value as text that sorts like it, whatever its type; null: bytes';
create index attribute_value
  on pawl.attribute (shard, name, sortable, instance)
  where sortable is not null;

-- Out of the way -----------------------------------------------------------------

-- Instances that have ended and were archived: what they are found by, and all
-- their rows as one text. And those that were purged, but for their attributes.
create table pawl.archive (
  shard smallint not null,
  id uuid not null,
  workflow text not null,
  version integer not null,
  tenant text,
  priority smallint not null,
  executor_group text not null,
  business_key text, -- only: sqlite
  business_key text collate "C", -- only: postgres
  correlation text,
  key text,
  parent uuid,
  root uuid,
  parent_place json,
  started_by text,
  status text not null
    check (status = 'completed' or status = 'failed' or status = 'cancelled'),
  node text,
  error json,
  cancellation json,
  compensation json,
  created_at timestamptz not null,
  started_at timestamptz,
  updated_at timestamptz not null,
  completed_at timestamptz,
  successor uuid,
  deletion json,
  archived_at timestamptz not null,
  purged_at timestamptz,
  rest boolean not null,
  document text,
  primary key (shard, id)
);
comment on table pawl.archive is
  'instances that were archived, or purged but for their attributes';
comment on column pawl.archive.id is 'the instance''s id';
comment on column pawl.archive.status is 'how it has ended';
comment on column pawl.archive.node is 'where it has ended';
comment on column pawl.archive.archived_at is
  'when it was archived, or, if it was not, purged';
comment on column pawl.archive.purged_at is 'when it was purged';
comment on column pawl.archive.document is
  'all rows of it, as an export has them; null: it was purged';
comment on column pawl.archive.deletion is
  'who has archived it, or purged it, and why';
comment on column pawl.archive.rest is
  'rows of it are still in the tables of those that live';
create table pawl.archived_task (
  shard smallint not null,
  id uuid not null,
  instance uuid not null,
  tenant text,
  primary key (shard, id)
); -- only: postgres
) without rowid; -- only: sqlite
create index archived_task_instance
  on pawl.archived_task ((shard + 1), instance);
create index archived_task_tenant on pawl.archived_task (shard, tenant, id)
  where tenant is not null;
comment on table pawl.archived_task is
  'whose the tasks of archived instances are';
comment on column pawl.archived_task.id is 'the task''s id';
create index archive_key on pawl.archive (shard, key, workflow, id)
  where key is not null;
create index archive_business_key on pawl.archive (shard, business_key, id)
  where business_key is not null;
create index archive_correlation on pawl.archive (shard, correlation, id)
  where correlation is not null;
create index archive_tenant on pawl.archive (shard, tenant, id)
  where tenant is not null;
create index archive_parent on pawl.archive (shard, parent, id)
  where parent is not null;
create index archive_root on pawl.archive (shard, root, id)
  where root is not null;
-- The condition always holds: only what says so may use the index. What looks
-- for a key would else walk a workflow.
create index archive_workflow on pawl.archive (shard, workflow, id)
  where status >= '';
create index archive_rest on pawl.archive ((shard + 0)) where rest;
-- The condition always holds here, too, and keeps others off.
create index archive_purged on pawl.archive ((shard + 0), purged_at)
  where purged_at >= to_timestamp(0); -- only: postgres
  where purged_at >= 0; -- only: sqlite

-- only: postgres
-- Who begins one with a key while its holder is archived waits for that, and
-- sees the archive as it was before. Tried again, the key is found there.
create function pawl.key_free() returns trigger language plpgsql
  set search_path = pg_catalog, pg_temp as $$
begin
  if exists (select 1 from pawl.archive a
              where a.shard = new.shard and a.key = new.key
                and a.workflow = new.workflow
                and coalesce(a.tenant, '') = coalesce(new.tenant, '')
                and a.successor is null and a.purged_at is null) then
    raise exception 'its key was archived with another'
      using errcode = 'serialization_failure';
  end if;
  return null;
end $$;
create trigger key_free after insert on pawl.instance
  for each row when (new.key is not null and new.commits = 0)
  execute function pawl.key_free();

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
comment on column pawl.executor.id is 'drawn when it starts';
comment on column pawl.executor.host is 'the machine that it runs on';
comment on column pawl.executor.boot is
  'that machine''s start: another number after it was down';
comment on column pawl.executor.space is 'its namespace of processes';
comment on column pawl.executor.pid is 'its process there';
comment on column pawl.executor.begun is
  'when that process began: numbers of processes are used again';
comment on column pawl.executor.executor_group is 'the group that it serves';
comment on column pawl.executor.started_at is 'when it came';
comment on column pawl.executor.active_at is 'when it was last heard of';
comment on column pawl.executor.expires_at is 'when it is taken for dead';
comment on column pawl.executor.stopped_at is 'when it said that it goes';
comment on column pawl.executor.recovered_at is
  'when what it held was taken over';

create table pawl.housekeeper (
  no smallint primary key check (no = 1),
  executor uuid not null,
  host text not null,
  boot text not null,
  space text not null,
  pid bigint not null,
  begun bigint not null,
  since timestamptz not null,
  expires_at timestamptz not null,
  due_at timestamptz not null,
  place text not null
);
comment on table pawl.housekeeper is
  'who prunes the store until expires_at, when the next may, and where';
comment on column pawl.housekeeper.no is '1';
comment on column pawl.housekeeper.executor is 'who is at it';
comment on column pawl.housekeeper.host is 'where: the host''s name';
comment on column pawl.housekeeper.boot is
  'which start of that host, by which its processes are told apart';
comment on column pawl.housekeeper.space is
  'in which of its namespaces of processes';
comment on column pawl.housekeeper.pid is 'which process';
comment on column pawl.housekeeper.begun is
  'when that process began, as the host counts';
comment on column pawl.housekeeper.since is 'when it began to be at it';
comment on column pawl.housekeeper.expires_at is
  'until when, unless it says so again';
comment on column pawl.housekeeper.due_at is 'when the next may begin';
comment on column pawl.housekeeper.place is 'how far it is';

-- Which events start instances of a workflow.
create table pawl.trigger (
  pattern text not null,
  workflow text not null,
  version integer not null,
  primary key (pattern, workflow)
);
comment on table pawl.trigger is 'which events start instances of a workflow';
comment on column pawl.trigger.pattern is
  'the event''s name, or what its name begins with';
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
comment on table pawl.suspension is
  'workflows, and prefixes of them, on which nothing goes on';
comment on column pawl.suspension.code is 'the workflow, or the prefix';
comment on column pawl.suspension.is_prefix is 'all whose codes begin so';
comment on column pawl.suspension.reason is 'why';
comment on column pawl.suspension.by is 'who did it';
comment on column pawl.suspension.suspended_at is 'when';

-- Nodes where tokens halt.
create table pawl.breakpoint (
  workflow text not null,
  node text not null,
  tenant text not null,
  condition text,
  by text,
  reason text,
  set_at timestamptz not null,
  expires_at timestamptz not null,
  primary key (workflow, node, tenant)
);
comment on table pawl.breakpoint is
  'nodes before which tokens halt until somebody lets them go on';
comment on column pawl.breakpoint.node is 'before which node';
comment on column pawl.breakpoint.tenant is
  'of whose instances; empty: of all';
comment on column pawl.breakpoint.condition is
  'when: an expression in Lua; null: always';
comment on column pawl.breakpoint.by is 'who set it';
comment on column pawl.breakpoint.reason is 'why';
comment on column pawl.breakpoint.set_at is 'when it was set';
comment on column pawl.breakpoint.expires_at is
  'from when on it is none any more';

-- Every claim looks at it.
create table pawl.breakpoint_change (
  no smallint primary key,
  changes bigint not null
);
comment on table pawl.breakpoint_change is
  'how often breakpoints have changed: one row, or none before that';
comment on column pawl.breakpoint_change.no is 'always 1';
comment on column pawl.breakpoint_change.changes is 'how often';

-- What limited workflows have done in a minute, where they have a quota. Each
-- executor has rows of its own: neighbours do not wait for each other.
create table pawl.quota (
  workflow text not null,
  minute timestamptz not null,
  quota text not null,
  executor uuid not null,
  amount bigint not null,
  primary key (workflow, minute, quota, executor)
) without rowid; -- only: sqlite
); -- only: postgres
comment on table pawl.quota is
  'what limited workflows have done in a minute';
comment on column pawl.quota.minute is 'when it began';
comment on column pawl.quota.quota is
  'of what: starts, timers, events, emits, logs';
comment on column pawl.quota.executor is 'who ran them';
comment on column pawl.quota.amount is 'how many';

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
       token_due_at as due_at, entered_at,
       case when token_no = 1 then started_at end as created_at
  from pawl.instance where token_no is not null
union all
select t.shard, t.instance, t.no, t.node, t.state, t.visit, t.previous_node,
       t.parent, t.scope, t.fork, t.branch, t.data, t.event, t.detail,
       t.attempt, t.due_at, t.entered_at,
       case when t.created_at is null
         then (select i.started_at from pawl.instance i
                where i.shard = t.shard and i.id = t.instance)
         else t.created_at end as created_at
  from pawl.token t;

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

-- Of what is archived, what readers ask first; its history, tasks and all else
-- are lines of its document (docs/export.md). A member of its own line, the
-- second; what cannot be taken apart here reads as null, never as an error.
-- only: postgres
create function pawl.filed(document text, name text) returns json
  language plpgsql immutable parallel safe
  set search_path = pg_catalog, pg_temp as $$
begin
  return split_part(document, chr(10), 2)::json -> name;
exception when others then
  return null;
end $$;

-- only: postgres
create view pawl.archived_view as
select id, shard, status, workflow, version, tenant, priority, executor_group,
       business_key, correlation, key, started_by, parent, root,
       pawl.as_jsonb(pawl.filed(document, 'input')) as input,
       pawl.as_jsonb(pawl.filed(document, 'output')) as output,
       pawl.as_jsonb(error) as error,
       pawl.as_jsonb(cancellation) as cancellation,
       node, created_at, started_at, updated_at, completed_at, archived_at,
       pawl.as_jsonb(deletion) ->> 'by' as archived_by,
       pawl.as_jsonb(deletion) ->> 'reason' as reason
  from pawl.archive where purged_at is null;

-- only: sqlite
create view pawl_archived_view as
select lower(hex(id)) as id, shard, status, workflow, version, tenant,
       priority, executor_group, business_key, correlation, key, started_by,
       parent, root,
       case when json_valid(own) and json_type(own, '$.input') <> ''
            then json_quote(json_extract(own, '$.input')) end as input,
       case when json_valid(own) and json_type(own, '$.output') <> ''
            then json_quote(json_extract(own, '$.output')) end as output,
       error, cancellation, node, created_at, started_at, updated_at,
       completed_at, archived_at,
       json_extract(deletion, '$.by') as archived_by,
       json_extract(deletion, '$.reason') as reason
  from (select *, substr(rest_of, 1, instr(rest_of || char(10), char(10)) - 1)
                    as own
          from (select *, substr(document,
                                 instr(document, char(10)) + 1) as rest_of
                  from pawl_archive where purged_at is null));

-- only: postgres
-- What a column holds is said once: those of views and of the archive, and those
-- that many tables have, take it from here where nothing else is said of them.
comment on view pawl.instance_view is
  'instances that are not deleted, for readers; JSON that jsonb cannot hold, as a text in it has a zero, reads as null here and in the other views: the tables have it';
comment on column pawl.instance_view.input is
  'what it was started with; null, too, where a text in it has a zero';
comment on column pawl.instance_view.status is
  'as Pawl tells it: created until the first step begins';
comment on column pawl.instance_view.variables is
  'whole, wherever they are kept';
comment on view pawl.token_view is
  'where instances stand, whichever table has it';
comment on view pawl.step_view is
  'what was run and passed, and where instances stand now; the latter have no seq';
comment on column pawl.step_view.status is
  'completed, failed, timed_out or undone; of what stands: active or waiting';
comment on view pawl.task_view is 'tasks of instances that are not deleted';
comment on view pawl.archived_view is
  'instances that were archived, for readers; instance_view has none of them';
comment on column pawl.archived_view.archived_at is 'when that was';
comment on column pawl.archived_view.archived_by is 'who did it';
comment on column pawl.archived_view.reason is 'why';
do $$
declare c record;
begin
  for c in
    select v.name as view, a.attname as name,
           (select d.description
              from unnest(v.tables) with ordinality t (name, no)
              join pg_catalog.pg_attribute b
                on b.attrelid = ('pawl.' || t.name)::regclass
               and b.attname = a.attname
              join pg_catalog.pg_description d
                on d.objoid = b.attrelid and d.objsubid = b.attnum
             order by t.no limit 1) as text
      from (values ('token_view', array['token']),
                   ('instance_view', array['instance']),
                   ('step_view', array['history', 'token', 'instance']),
                   ('task_view', array['task', 'instance']),
                   ('archived_view', array['archive', 'instance']),
                   ('archive', array['instance']))
           v (name, tables)
      join pg_catalog.pg_attribute a on a.attrelid = ('pawl.' || v.name)::regclass
       and a.attnum > 0
     where pg_catalog.col_description(a.attrelid, a.attnum) is null
  loop
    execute format('comment on column pawl.%I.%I is %L', c.view, c.name, c.text);
  end loop;
  for c in
    select k.relname as name, a.attname as column, v.text
      from (values ('shard', 'which part of the store; every key begins with it'),
                   ('instance', 'of which instance it is'),
                   ('tenant', 'whose it is; null: nobody''s'),
                   ('workflow', 'its workflow''s code'),
                   ('version', 'its workflow''s version'),
                   ('created_at', 'when it came')) v (name, text)
      join pg_catalog.pg_attribute a on a.attname = v.name and a.attnum > 0
      join pg_catalog.pg_class k on k.oid = a.attrelid and k.relkind in ('r', 'v')
     where k.relnamespace = 'pawl'::regnamespace
       and pg_catalog.col_description(a.attrelid, a.attnum) is null
  loop
    execute format('comment on column pawl.%I.%I is %L', c.name, c.column, c.text);
  end loop;
end $$;

-- Called from SQL -----------------------------------------------------------------
-- What a program's own transaction may do without the library: it starts and
-- signals with the rights of who calls. See docs/stores.md, and decision 0053.

-- only: postgres
create function pawl.refuse(code text, state text, message text, hint text)
  returns void language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  raise exception using errcode = state, message = message,
    detail = 'code: ' || code, hint = hint;
end $$;

-- only: postgres
-- A UUIDv7, as clients draw them; its last two bytes are its home.
create function pawl.draw_id(home integer default null) returns uuid
  language sql volatile set search_path = pg_catalog, pg_temp as $$
  select (lpad(to_hex(floor(extract(epoch from clock_timestamp()) * 1000)
                      ::bigint), 12, '0')
          || '7' || substr(d.hex, 14, 15)
          || coalesce(lpad(to_hex(home), 4, '0'), substr(d.hex, 29)))::uuid
    from (select replace(gen_random_uuid()::text, '-', '') as hex) d
$$;

-- only: postgres
create function pawl.shard_of(id uuid) returns integer
  language sql stable set search_path = pg_catalog, pg_temp as $$
  select (get_byte(b, 14) * 256 + get_byte(b, 15)) % m.value::integer
    from pawl.meta m, uuid_send(id) b where m.key = 'shards'
$$;

-- only: postgres
-- Where an event's id, or its key, is known.
create function pawl.event_shard(key text) returns integer
  language sql stable set search_path = pg_catalog, pg_temp as $$
  select ((h.high % n) * (4294967296 % n) + h.low % n) % n
    from (select value::bigint as n from pawl.meta where meta.key = 'shards') m,
         (select get_byte(d, 0) * 16777216::bigint + get_byte(d, 1) * 65536
                 + get_byte(d, 2) * 256 + get_byte(d, 3) as high,
                 get_byte(d, 4) * 16777216::bigint + get_byte(d, 5) * 65536
                 + get_byte(d, 6) * 256 + get_byte(d, 7) as low
            from sha256(convert_to(event_shard.key, 'UTF8')) d) h
$$;

-- only: postgres
-- What the library would not read back: JSON with a key twice, too deep, with
-- a number that no value holds, or half of a surrogate pair.
create function pawl.check_json(what text, value json, depth integer default 1)
  returns void language plpgsql set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_variable
declare kind text := json_typeof(value); twice text; part json; n numeric;
begin
  if depth = 1 and strpos(value::text, '\u0000') > 0 then
    -- No text with a zero can be taken apart: all stay as different as they are.
    value := replace(replace(replace(value::text, '\\', '\u005c'),
      '\u0001', '\u0001\u0001'), '\u0000', '\u0001\u0002')::json;
  end if;
  if depth = 1 and value::text ~ '\\u[dD][89a-fA-F]'
    and regexp_replace(regexp_replace(value::text, '\\\\', '', 'g'),
          '\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}', '', 'g')
        ~ '\\u[dD][89a-fA-F]'
  then
    perform pawl.refuse('value', '22023', format('%s has half of a surrogate'
      ' pair', what), 'write surrogates in pairs');
  elsif kind in ('object', 'array') and depth > 200 then
    perform pawl.refuse('limit', '54000', format('%s is nested deeper than 200'
      ' levels', what), '');
  elsif kind = 'object' then
    select k into twice from json_object_keys(value) k
     group by k having count(*) > 1 limit 1;
    if found then
      perform pawl.refuse('value', '22023', format('%s has the key "%s" twice',
        what, twice), 'leave one of them out');
    end if;
    for part in select e.value from json_each(value) e loop
      perform pawl.check_json(what, part, depth + 1);
    end loop;
  elsif kind = 'array' then
    for part in select e.value from json_array_elements(value) e loop
      perform pawl.check_json(what, part, depth + 1);
    end loop;
  elsif kind = 'number' then
    begin
      n := value::text::numeric;
    exception when numeric_value_out_of_range then
      n := 'NaN'; -- above all others
    end;
    if (case when value::text ~ '[.eE]' then abs(n) > 1.7976931348623157e308
             else n not between -9223372036854775808 and 9223372036854775807
        end) then
      perform pawl.refuse('value', '22023', format('%s has a number that is too'
        ' large: %s', what, left(value::text, 60)), 'write it as a string');
    end if;
  end if;
end $$;

-- only: postgres
-- Nothing is read that is not known, or is not of its kind.
create function pawl.check_options(what text, options json, known json)
  returns void language plpgsql set search_path = pg_catalog, pg_temp as $$
declare o record; kind text;
begin
  if json_typeof(options) <> 'object' then
    perform pawl.refuse('invalid', '22023', 'options are an object', '');
  elsif strpos(replace(options::text, '\\', ''), '\u0000') > 0 then
    perform pawl.refuse('value', '22023', format('%s''s options have a text'
      ' with a zero', what), 'an input or data of its own may have one');
  end if;
  perform pawl.check_json(what || '''s options', options);
  for o in select key, value from json_each(options) loop
    kind := known ->> o.key;
    if kind is null then
      perform pawl.refuse('invalid', '22023', format('%s has no option "%s"',
        what, o.key), 'there are: ' || (select string_agg(k, ', ')
                                          from json_object_keys(known) k));
    elsif kind <> 'any'
      and json_typeof(o.value) not in (split_part(kind, ' ', 1), 'null') then
      perform pawl.refuse('invalid', '22023', format('option "%s" is %s, not'
        ' %s', o.key, split_part(kind, ' ', 1), json_typeof(o.value)), '');
    elsif kind like 'string %' and json_typeof(o.value) = 'string'
      and not options ->> o.key = any (string_to_array(substr(kind, 8), ' '))
    then
      perform pawl.refuse('invalid', '22023', format('option "%s" is one of %s',
        o.key, substr(kind, 8)), '');
    elsif kind = 'string' and octet_length(options ->> o.key)
                              not between 1 and 255 then
      perform pawl.refuse('invalid', '22023', format('option "%s" has 1 to 255'
        ' bytes', o.key), '');
    elsif kind like 'number %' and json_typeof(o.value) = 'number'
      and ((options ->> o.key) !~ '^-?[0-9]{1,18}$'
           or (options ->> o.key)::numeric
              not between split_part(kind, ' ', 2)::numeric
                      and split_part(kind, ' ', 3)::numeric) then
      perform pawl.refuse('invalid', '22023', format('option "%s" is an integer'
        ' from %s to %s', o.key, split_part(kind, ' ', 2),
        split_part(kind, ' ', 3)), '');
    elsif kind = 'object' and octet_length(o.value::text) > 1000000 then
      perform pawl.refuse('limit', '54000', format('option "%s" has more than'
        ' 1000000 bytes', o.key), '');
    end if;
  end loop;
end $$;

-- only: postgres
create function pawl.check_name(what text, name text) returns void
  language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  if name is null or octet_length(name) > 200
     or name !~ '^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*$' then
    perform pawl.refuse('invalid', '22023', format('"%s" cannot be %s', name,
      what), 'dotted words of letters, digits, ''_'' and ''-'', at most 200'
      ' bytes');
  end if;
end $$;

-- only: postgres
-- 2, or 5, so many times itself: exactly.
create function pawl.power_of(base integer, times integer) returns numeric
  language plpgsql immutable strict parallel safe
  set search_path = pg_catalog, pg_temp as $$
declare square numeric := base; n integer := times; product numeric := 1;
begin
  while n > 0 loop
    if n % 2 = 1 then product := product * square; end if;
    square := square * square;
    n := n / 2;
  end loop;
  return product;
end $$;

-- only: postgres
-- A number as engine/common/sortable.h tells it, which is 0.DIGITS times 10 to
-- the exponent.
create function pawl.sortable(negative boolean, digits text,
                              exponent integer) returns text
  language sql immutable strict parallel safe
  set search_path = pg_catalog, pg_temp as $$
  select case when rtrim(digits, '0') = '' then 'n1'
              when negative then 'n0' || translate(n.body, '0123456789',
                                                   '9876543210') || '~'
              else 'n2' || n.body end
    from (select lpad((50000 + exponent)::text, 5, '0')
                 || rtrim(digits, '0') as body) n
$$;

-- only: postgres
create function pawl.sortable(value numeric) returns text
  language sql immutable strict parallel safe
  set search_path = pg_catalog, pg_temp as $$
  select pawl.sortable(value < 0, ltrim(p.whole || p.rest, '0'),
                       case when p.whole <> '' then length(p.whole)
                            else length(ltrim(p.rest, '0')) - length(p.rest)
                       end)
    from (select ltrim(split_part(abs(value)::text, '.', 1), '0') as whole,
                 split_part(abs(value)::text, '.', 2) as rest) p
$$;

-- only: postgres
-- A float is the integer that it is, or the first of 15, 16 and 17 digits that
-- read back as it, of all that it has: C's printf rounds those, half to even.
create function pawl.sortable(value double precision) returns text
  language plpgsql immutable strict parallel safe
  set search_path = pg_catalog, pg_temp as $$
declare
  b bytea := float8send(value);
  power integer := (get_byte(b, 0) & 127) * 16 + get_byte(b, 1) / 16;
  mantissa bigint := 0;
  places integer := 0; digits text; kept text; exponent integer;
begin
  if value = floor(value) and abs(value) < 9223372036854775808 then
    return pawl.sortable(value::bigint::numeric);
  end if;
  for i in 1 .. 7 loop
    mantissa := mantissa * 256
                + case i when 1 then get_byte(b, 1) & 15 else get_byte(b, i) end;
  end loop;
  if power > 0 then mantissa := mantissa + 4503599627370496; end if;
  power := greatest(power, 1) - 1075;
  if power < 0 then
    places := -power;
    digits := (mantissa * pawl.power_of(5, places))::text;
  else
    digits := (mantissa * pawl.power_of(2, power))::text;
  end if;
  for n in 15 .. 17 loop
    kept := left(digits, n);
    exponent := length(digits) - places;
    if substr(digits, n + 1, 1) > '5'
       or substr(digits, n + 1, 1) = '5'
          and (rtrim(substr(digits, n + 2), '0') <> ''
               or right(kept, 1)::integer % 2 = 1) then
      kept := (kept::numeric + 1)::text;
      exponent := exponent + length(kept) - least(n, length(digits));
    end if;
    begin
      exit when (('0.' || kept || 'e' || exponent)::double precision)
                = abs(value);
    exception when numeric_value_out_of_range then null; -- rounded too far up
    end;
  end loop;
  return pawl.sortable(value < 0, kept, exponent);
end $$;

-- only: postgres
-- Microseconds since 1970 of a date as base/clock.c reads it; null: it is none.
create function pawl.read_date(text text) returns bigint
  language plpgsql immutable strict parallel safe
  set search_path = pg_catalog, pg_temp as $$
declare
  p text[] := regexp_match(text, '^(\d{4})-(\d\d)-(\d\d)(?:[Tt ]([01]\d|2[0-3])'
    ':([0-5]\d):([0-5]\d)(?:\.(\d+))?(?:[Zz]|([+-])([01]\d|2[0-3]):([0-5]\d)))?$');
  day date;
begin
  if p is null then return null; end if;
  begin
    day := make_date(case p[1] when '0000' then -1 else p[1]::integer end,
                     p[2]::integer, p[3]::integer);
  exception when datetime_field_overflow then
    return null;
  end;
  return (day - date '1970-01-01') * 86400000000
    + coalesce(p[4], '0')::bigint * 3600000000
    + coalesce(p[5], '0')::bigint * 60000000
    + coalesce(p[6], '0')::bigint * 1000000
    + rpad(left(coalesce(p[7], ''), 6), 6, '0')::bigint
    - (coalesce(p[8], '+') || '1')::bigint * 60000000
      * (coalesce(p[9], '0')::bigint * 60 + coalesce(p[10], '0')::bigint);
end $$;

-- only: postgres
-- An attribute's columns, as attribute_read in engine/common/attributes.c.
create function pawl.read_attribute(name text, typed json, out type text,
       out text_value text, out date_value timestamptz, out bytes_value bytea,
       out float_value double precision, out number_value numeric,
       out boolean_value boolean, out sortable text)
  language plpgsql set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_variable
declare value json; kind text; us bigint;
begin
  if octet_length(name) not between 1 and 255
     or to_json(name)::text <> '"' || name || '"' then
    perform pawl.refuse('value', '22023', format('attribute "%s" has a name'
      ' that is empty, longer than 255 bytes, or needs escaping', name), '');
  end if;
  if json_typeof(typed) = 'object' then
    value := typed -> 'value';
    type := typed ->> 'type';
  end if;
  if value is null or type is null then
    perform pawl.refuse('value', '22023', format('attribute "%s" has no type'
      ' and value', name), '{"type": "integer", "value": 17}');
  end if;
  kind := type || ' ' || json_typeof(value);
  begin
    if kind = 'string string' then
      text_value := typed ->> 'value';
      if octet_length(text_value) > 2000 then
        perform pawl.refuse('value', '22023', format('attribute "%s" is longer'
          ' than 2000 bytes', name), '');
      end if;
      sortable := 's' || text_value;
    elsif kind = 'integer number' and value::text ~ '^-?\d{1,19}$'
      and value::text::numeric between -9223372036854775808
                                   and 9223372036854775807
      or kind = 'decimal string' and octet_length(typed ->> 'value') <= 1000
      and typed ->> 'value' ~ '^-?(0|[1-9]\d*)(\.\d+)?$' then
      number_value := typed ->> 'value';
      sortable := pawl.sortable(number_value);
    elsif kind = 'float number' then
      float_value := typed ->> 'value';
      sortable := pawl.sortable(float_value);
    elsif kind = 'boolean boolean' then
      boolean_value := typed ->> 'value';
      sortable := 'b' || boolean_value::integer;
    elsif kind in ('date number', 'date string') then
      us := case when kind = 'date string'
                 then pawl.read_date(typed ->> 'value')
                 when value::text ~ '^-?\d{1,18}$' then value::text::bigint end;
      if us between -62167219200000000 and 253402300799999999 then
        date_value := timestamptz 'epoch'
                      + us / 3600000000 * interval '1 hour'
                      + us % 3600000000 * interval '1 microsecond';
        sortable := 'd' || lpad((us + 9223372036854775808)::text, 20, '0');
      end if;
    elsif kind = 'binary string' and typed ->> 'value' ~
      '^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$' then
      bytes_value := decode(typed ->> 'value', 'base64');
    end if;
  exception
    when numeric_value_out_of_range or untranslatable_character then null;
  end;
  if num_nonnulls(text_value, date_value, bytes_value, float_value,
                  number_value, boolean_value) = 0 then
    perform pawl.refuse('value', '22023', format('attribute "%s" has an'
      ' impossible value for its type', name), 'an attribute is a string,'
      ' integer, decimal, float, boolean, date or binary');
  end if;
end $$;

-- only: postgres
-- As instance_start: false, when its id or its key is there, or its version
-- takes no instances. What `o` has was checked.
create function pawl.start_row(shard integer, id uuid, code text,
       version integer, key text, tenant text, input json, o json,
       starter text) returns boolean language plpgsql
  set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
<<v>>
declare n integer; due timestamptz := coalesce(
    timestamptz 'epoch' + (o ->> 'at_us')::bigint * interval '1 microsecond',
    now() + nullif((o ->> 'delay_us')::bigint, 0) * interval '1 microsecond');
begin
  with new as (
    insert into pawl.instance (shard, id, status, workflow, version, priority,
           executor_group, lasts, max_bytes, tenant, correlation, business_key,
           metadata, started_by, key, input, visit, attempt, commits, seq, token_due_at,
           created_at, updated_at)
    select start_row.shard, start_row.id, 'running', start_row.code, r.version,
           coalesce((o ->> 'priority')::smallint, 0),
           coalesce(o ->> 'group', 'default'),
           (o ->> 'deadline_us')::bigint, (o ->> 'max_bytes')::bigint,
           start_row.tenant,
           o ->> 'correlation', o ->> 'business_key',
           case when o ->> 'metadata' is not null then o -> 'metadata' end,
           start_row.starter, start_row.key, start_row.input, 0, 0, 0, 0, v.due,
           now(), now()
      from (select coalesce(start_row.version,
                     (select w.version from pawl.workflow w
                       where w.code = start_row.code and w.current and w.active
                       order by w.version desc limit 1), 0) as version) r
     where not exists (select from pawl.workflow w
                        where w.code = start_row.code and w.current
                          and r.version in (w.version, 0) and not w.active)
       and not exists (select from pawl.archive a
                        where a.shard = start_row.shard
                          and a.id = start_row.id offset 0)
       and (start_row.key is null or not exists (
             select from pawl.archive a
              where a.shard = start_row.shard and a.workflow = start_row.code
                and a.key = start_row.key and a.successor is null
                and a.purged_at is null
                and coalesce(a.tenant, '') = coalesce(start_row.tenant, '')
             offset 0))
    on conflict do nothing
    returning version, priority, executor_group,
              coalesce(token_due_at, created_at) as due_at),
  stand as (
    insert into pawl.standing (shard, workflow, status, instance)
    select start_row.shard, start_row.code, 'running', start_row.id from new),
  counted as (
    insert into pawl.counter (shard, workflow, version, was, was_node, status,
           node, minute, amount)
    select start_row.shard, start_row.code, version, '', '', 'running', '',
           date_trunc('minute', now()), 1 from new)
  insert into pawl.agenda (shard, instance, workflow, version, executor_group,
         priority, ready, due_at, takeovers, latch)
  select start_row.shard, start_row.id, start_row.code, version,
         executor_group, priority, due_at <= now(), due_at, 0, 0 from new;
  get diagnostics v.n = row_count;
  if v.n = 0 then return false; end if;
  if o ->> 'attributes' is not null then
    insert into pawl.attribute (shard, instance, name, type, text_value,
           date_value, bytes_value, float_value, number_value, boolean_value,
           sortable, updated_at)
    select start_row.shard, start_row.id, a.key, r.type, r.text_value,
           r.date_value, r.bytes_value, r.float_value, r.number_value,
           r.boolean_value, r.sortable, now()
      from json_each(o -> 'attributes') a
     cross join lateral pawl.read_attribute(a.key, a.value) r
    on conflict do nothing;
  end if;
  return true;
end $$;

-- only: postgres
-- Who has the key, and what is to happen: return, fail, take; as judge in
-- engine/enter/succeed.c. Null: nobody has it.
create function pawl.key_holder(shard integer, code text, key text,
       tenant text, options json, out id uuid, out status text,
       out archived boolean, out away boolean, out ended boolean,
       out verdict text)
  language plpgsql set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
<<v>>
declare reuse text := options ->> 'reuse';
  existing text := coalesce(options ->> 'on_existing', 'return');
begin
  select i.id,
         case when i.status = 'running' and i.started_at is null
               and not exists (select from pawl.agenda a
                                where a.shard = i.shard
                                  and a.instance = i.id
                                  and a.lease is not null)
              then 'created' else i.status end,
         false, i.away is not null
    into id, status, archived, away from pawl.instance i
   where i.shard = key_holder.shard and i.workflow = key_holder.code
     and i.key = key_holder.key
     and coalesce(i.tenant, '') = coalesce(key_holder.tenant, '')
     and i.deleted_at is null and i.successor is null;
  if not found then
    select a.id, a.status, true, false into id, status, archived, away
      from pawl.archive a
     where a.shard = key_holder.shard and a.workflow = key_holder.code
       and a.key = key_holder.key
       and coalesce(a.tenant, '') = coalesce(key_holder.tenant, '')
       and a.successor is null and a.purged_at is null;
    if not found then return; end if;
  end if;
  ended := key_holder.status in ('completed', 'failed', 'cancelled')
           and not exists (select from pawl.inbox i
                            where i.shard = key_holder.shard
                              and i.instance = key_holder.id and not i.taken
                              and i.kind not in ('event', 'child', 'task')
                              and i.kind in ('retry', 'restart'));
  verdict := case
    when key_holder.ended and (v.reuse = 'ended' or v.reuse = 'failed'
                               and key_holder.status = 'failed') then 'take'
    when v.existing = 'return' then 'return'
    when v.existing = 'replace' and not key_holder.ended
     and not key_holder.away then 'take'
    else 'fail' end;
end $$;

-- only: postgres
create function pawl.wake(shard integer, target uuid, statuses text[])
  returns void language sql volatile
  set search_path = pg_catalog, pg_temp as $$
  insert into pawl.agenda as a (shard, instance, workflow, version,
         executor_group, priority, ready, due_at, takeovers, latch)
  select i.shard, i.id, i.workflow, i.version, i.executor_group, i.priority,
         true, now(), 0, 1
    from pawl.instance i
   where i.shard = wake.shard and i.id = wake.target
     and i.status = any (wake.statuses)
  on conflict (shard, instance) do update
     set latch = a.latch + 1, ready = a.ready or a.lease is null,
         due_at = case when a.lease is null
                       then least(a.due_at, excluded.due_at)
                       else a.due_at end
$$;

-- only: postgres
-- Its key is another's from now on; it is locked. One that lives is asked to
-- cancel, and a worker of its group is given some time to see to that.
create function pawl.take_key(shard integer, holder uuid, archived boolean,
       ended boolean, successor uuid, by text)
  returns void language plpgsql set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
begin
  if take_key.archived then
    update pawl.archive a set successor = take_key.successor
     where a.shard = take_key.shard and a.id = take_key.holder;
    return;
  end if;
  if take_key.ended then
    delete from pawl.agenda a
     where a.shard = take_key.shard and a.instance = take_key.holder
       and a.lease is null
       and not exists (select from pawl.inbox i
                        where i.shard = take_key.shard
                          and i.instance = take_key.holder and not i.taken
                          and i.kind not in ('event', 'child', 'task'));
  else
    insert into pawl.inbox (shard, instance, no, kind, event_id, source, by,
           data, received_at)
    values (take_key.shard, take_key.holder, pawl.draw_id(), 'cancel',
            'successor:' || take_key.successor, 'system', take_key.by,
            format('{"reason":"replaced by %s"}', take_key.successor)::json,
            now())
    on conflict do nothing;
    insert into pawl.ending as e (shard, instance, due_at, tries)
    values (take_key.shard, take_key.holder, now() + interval '10 s', 0)
    on conflict (shard, instance) do update
       set due_at = least(e.due_at, excluded.due_at), tries = 0;
  end if;
  update pawl.instance i set successor = take_key.successor
   where i.shard = take_key.shard and i.id = take_key.holder;
end $$;

-- only: postgres
-- Is the id there, as that of what is started?
create function pawl.is_known(shard integer, id uuid, code text, tenant text)
  returns boolean language plpgsql
  set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
declare at record;
begin
  select i.workflow, i.tenant, i.deleted_at is not null as deleted into at
    from pawl.instance i
   where i.shard = is_known.shard and i.id = is_known.id;
  if not found then
    select a.workflow, a.tenant, false as deleted into at from pawl.archive a
     where a.shard = is_known.shard and a.id = is_known.id;
    if not found then return false; end if;
  end if;
  if coalesce(at.tenant, '') <> coalesce(is_known.tenant, '') then
    perform pawl.refuse('conflict', '55000', format('the id %s is taken by'
      ' another tenant''s instance', is_known.id), 'draw another id for it');
  elsif at.deleted then
    perform pawl.refuse('conflict', '55000', format('instance %s is deleted:'
      ' its id cannot start another', is_known.id),
      'undelete it, or draw another id');
  elsif at.workflow <> is_known.code then
    perform pawl.refuse('conflict', '55000', format('instance %s is one of'
      ' workflow "%s": its id cannot start "%s"', is_known.id, at.workflow,
      is_known.code), 'draw another id for it');
  end if;
  return true;
end $$;

-- only: postgres
create function pawl.refuse_key(code text, key text, id uuid, status text,
                                ended boolean, away boolean)
  returns void language plpgsql set search_path = pg_catalog, pg_temp as $$
declare whose text := format('key "%s" of workflow "%s" is that of instance %s,'
                             ' which ', key, code, id);
begin
  if away and not ended then
    perform pawl.refuse('conflict', '55000', whose || 'was carried to another'
      ' store', 'kill it here, or take it back if nobody has imported it');
  elsif ended then
    perform pawl.refuse('exists', '23505', whose || 'has ended: ' || status,
      'to begin again with its key say reuse: "ended", or "failed" for those'
      ' that failed');
  end if;
  perform pawl.refuse('exists', '23505', whose || 'is ' || status,
    'on_existing "return" gives that one, "replace" cancels it');
end $$;

-- only: postgres
-- What is wrong with a start's options; and the id that it is to have.
create function pawl.start_id(code text, input json, o json, key text,
                              tenant text) returns uuid
  language plpgsql set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_variable
declare digest bytea; home integer; id text := o ->> 'id';
begin
  if octet_length(input::text) > 1000000 then
    perform pawl.refuse('limit', '54000', 'input has more than 1000000 bytes',
                        '');
  elsif coalesce((o ->> 'delay_us')::bigint, 0) > 0
    and o ->> 'at_us' is not null then
    perform pawl.refuse('invalid', '22023',
      'options "delay_us" and "at_us" exclude each other', '');
  elsif key is null and (o ->> 'on_existing' <> 'return'
                         or o ->> 'reuse' <> 'never') then
    perform pawl.refuse('invalid', '22023', format('option "%s" needs a "key"',
      case when o ->> 'on_existing' <> 'return' then 'on_existing'
           else 'reuse' end), 'give the key that may be in use already');
  elsif o ->> 'version' is not null and not exists (
    select from pawl.workflow w
     where w.code = start_id.code and w.version = (o ->> 'version')::integer)
  then
    perform pawl.refuse('notfound', 'P0002', format('there is no workflow "%s"'
      ' version %s', code, o ->> 'version'),
      'load its file first, or leave the version out');
  elsif id !~* ('^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-'
                '[0-9a-f]{12}$') then
    perform pawl.refuse('invalid', '22023', 'option "id" is a UUID of version'
      ' 7, drawn by the caller', 'a name of your own goes into "key"');
  end if;
  if key is not null then
    digest := pawl.key_digest(code, key, tenant);
    home := get_byte(digest, 0) * 256 + get_byte(digest, 1);
  end if;
  if id is null then return pawl.draw_id(home); end if;
  return coalesce(left(id, 32) || lpad(to_hex(home), 4, '0'), id);
end $$;

-- only: postgres
create function pawl.key_digest(code text, key text, tenant text)
  returns bytea language sql immutable
  set search_path = pg_catalog, pg_temp as $$
  select sha256(convert_to(coalesce(tenant, ''), 'UTF8') || '\x00'
                || convert_to(code, 'UTF8') || '\x00'
                || convert_to(key, 'UTF8'))
$$;

-- only: postgres
-- As engine/enter/start.c and succeed.c. `event`: what starts it, if it is one;
-- `mark`: by what a repeated one is to know what it has started.
create function pawl.start_as(code text, input json, options json, event json,
                              out id uuid, out created boolean, out mark text)
  language plpgsql set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
<<v>>
declare
  o json := coalesce(options, '{}'); data json := coalesce(input, '{}');
  key text; tenant text; shard integer; choosy boolean; locked uuid; h record;
  holder uuid; starter text;
begin
  perform pawl.check_name('a workflow''s code', start_as.code);
  perform pawl.check_options('a start', o, '{"key": "string", "on_existing":
    "string return fail replace", "reuse": "string never ended failed",
    "version": "number 1 2147483647", "priority": "number -32768 32767",
    "delay_us": "number 0 3153600000000000",
    "at_us": "number 1 253402300799999999",
    "deadline_us": "number 1 3153600000000000",
    "max_bytes": "number 1 9223372036854775807", "group": "string",
    "tenant": "string", "correlation": "string", "business_key": "string",
    "metadata": "object", "by": "string", "attributes": "object",
    "id": "string"}');
  perform pawl.check_json('input', v.data);
  v.key := coalesce(event ->> 'key', o ->> 'key');
  v.tenant := coalesce(event ->> 'tenant', o ->> 'tenant');
  v.starter := coalesce(o ->> 'by', event ->> 'by');
  if v.tenant <> o ->> 'tenant' then
    perform pawl.refuse('invalid', '22023', format('option "tenant" is "%s",'
      ' but this is tenant "%s"''s', o ->> 'tenant', v.tenant),
      'leave it out');
  end if;
  id := pawl.start_id(start_as.code, v.data, v.o, v.key, v.tenant);
  v.shard := pawl.shard_of(start_as.id);
  v.choosy := v.key is not null
              and (coalesce(o ->> 'on_existing', 'return') <> 'return'
                   or coalesce(o ->> 'reuse', 'never') <> 'never');
  created := v.choosy and pawl.is_known(v.shard, start_as.id, start_as.code,
                                        v.tenant);
  if start_as.created then return; end if;
  if v.choosy and event ->> 'id' is not null then
    mark := 'start:' || encode(pawl.key_digest(start_as.code, v.key,
                                               v.tenant), 'hex')
            || ':' || (event ->> 'id');
    select e.data #>> '{}' into v.locked from pawl.event e
     where e.shard = v.shard and e.tenant = '' and e.source = ''
       and e.id = start_as.mark;
    if found then
      id := v.locked;
      mark := null;
      return;
    end if;
  end if;
  for tries in 1 .. 20 loop
    holder := null;
    if v.choosy then
      select * into h
        from pawl.key_holder(v.shard, start_as.code, v.key, v.tenant, v.o);
      holder := h.id;
      if h.verdict = 'take' and h.id is distinct from v.locked then
        -- Locked first, and looked at again, as by all who change it.
        perform pawl.wake(v.shard, h.id, '{running, waiting, suspended, failed,'
                          'completed, cancelled}');
        if h.archived then
          perform from pawl.archive a
            where a.shard = v.shard and a.id = h.id for update;
        end if;
        v.locked := h.id;
        continue;
      elsif h.verdict = 'return' then
        id := h.id;
        return;
      elsif h.verdict = 'fail' then
        perform pawl.refuse_key(start_as.code, v.key, h.id, h.status, h.ended,
                                h.away);
      elsif h.verdict = 'take' then
        perform pawl.take_key(v.shard, h.id, h.archived, h.ended, start_as.id,
                              v.starter);
      end if;
    end if;
    created := pawl.start_row(v.shard, start_as.id, start_as.code,
      (o ->> 'version')::integer, v.key, v.tenant, v.data, v.o, v.starter);
    if start_as.created then
      if v.choosy or (coalesce((o ->> 'delay_us')::bigint, 0) = 0
                      and o ->> 'at_us' is null) then
        perform pg_notify('pawl_wake', '');
      end if;
      return;
    end if;
    if v.key is not null and v.holder is null then
      select k.id into v.holder
        from pawl.key_holder(v.shard, start_as.code, v.key, v.tenant, '{}') k;
      if v.holder is not null and not v.choosy then
        created := v.holder = start_as.id;
        id := v.holder;
        return;
      end if;
      continue when v.holder is not null; -- somebody was faster
    end if;
    if v.holder is null and pawl.is_known(v.shard, start_as.id, start_as.code,
                                      v.tenant) then
      return;
    end if;
    perform pawl.refuse('conflict', '55000', case
      when o ->> 'version' is null
      then format('no version of workflow "%s" is active: no new instances of'
                  ' it are started', start_as.code)
      else format('workflow "%s" version %s is not active: no new instances of'
                  ' it are started', start_as.code, o ->> 'version') end,
      'a version of it has to be switched on');
  end loop;
  perform pawl.refuse('busy', '40001', 'other starts have the key', 'again');
end $$;

-- only: postgres
create function pawl.start(code text, input json default '{}',
                           options json default '{}') returns uuid
  language sql volatile set search_path = pg_catalog, pg_temp as $$
  select id from pawl.start_as(code, input, options, null)
$$;

-- only: postgres
-- Into the inbox of one: how many took it, 0 if it has had it before.
create function pawl.send_letter(target uuid, name text, data json,
       options json, id text, source text, started boolean)
  returns integer language plpgsql
  set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
<<v>>
declare
  shard integer := pawl.shard_of(target); n integer; status text;
  tenant text := case when not started then options ->> 'tenant' end;
begin
  if exists (select from pawl.instance i
              where i.shard = v.shard and i.id = send_letter.target
                and coalesce(v.tenant, i.tenant, '')
                    = coalesce(i.tenant, '')) then
    perform pawl.wake(v.shard, send_letter.target,
                      '{running, waiting, suspended}');
  end if;
  select i.status into v.status from pawl.instance i
   where i.shard = v.shard and i.id = send_letter.target
     and coalesce(v.tenant, i.tenant, '') = coalesce(i.tenant, '');
  if v.status in ('running', 'waiting', 'suspended') then
    insert into pawl.inbox (shard, instance, no, kind, name, key, event_id,
           source, by, data, addressed, received_at)
    select v.shard, send_letter.target, pawl.draw_id(), 'event',
           send_letter.name, options ->> 'key',
           send_letter.source || ':' || send_letter.id, send_letter.source,
           options ->> 'by', send_letter.data, true, now()
      from pawl.instance i
     where i.shard = v.shard and i.id = send_letter.target
       and (i.trigger_event is null
            or i.key <> 'event:' || send_letter.source || ':'
                        || send_letter.id)
    on conflict do nothing;
    get diagnostics v.n = row_count;
    perform pg_notify('pawl_wake', '');
    return v.n;
  end if;
  if v.status is null and not exists (
    select from pawl.archive a
     where a.shard = v.shard and a.id = send_letter.target
       and a.purged_at is null
       and coalesce(v.tenant, a.tenant, '') = coalesce(a.tenant, '')) then
    perform pawl.refuse('notfound', 'P0002', format('there is no instance %s',
      send_letter.target), '');
  elsif exists (select from pawl.event e
                 where e.shard = v.shard and e.tenant = '' and e.source = ''
                   and e.id = format('to:%s:%s:%s',
                         replace(send_letter.target::text, '-', ''),
                         send_letter.source, send_letter.id)) then
    return 0;
  elsif v.status is null and not started then
    perform pawl.refuse('conflict', '55000', format('instance %s is archived',
      send_letter.target), 'unarchive it first');
  end if;
  perform pawl.refuse('already_finished', '55000', format('instance %s has'
    ' ended already%s', send_letter.target,
    coalesce(': ' || v.status, ', and is archived')),
    case when started then 'the key of "start" names it: give another one'
         else '' end);
end $$;

-- only: postgres
-- What a signal starts: in the transaction of its letter, so that no wait of
-- it can miss the event.
create function pawl.signal_start(start json, options json, name text,
       data json, event text, source text) returns json
  language plpgsql set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
<<v>>
declare
  o json; s record; n integer; known text; key text; home integer;
begin
  perform pawl.check_options('a signal''s "start"', start, '{"workflow":
    "string", "input": "any", "options": "object of any size"}');
  o := case when start ->> 'options' is null then '{}'
            else start -> 'options' end;
  if start ->> 'workflow' is null then
    perform pawl.refuse('invalid', '22023',
      'a signal''s "start" needs "workflow"', '');
  elsif o ->> 'delay_us' is not null or o ->> 'at_us' is not null then
    perform pawl.refuse('invalid', '22023', format('a signal cannot start an'
      ' instance later: option "%s"', case when o ->> 'delay_us' is not null
      then 'delay_us' else 'at_us' end),
      'start it first, then signal its id');
  end if;
  if options ->> 'id' is not null then
    known := source || ':' || event;
    if o ->> 'key' is null then key := 'event:' || v.known; end if;
  end if;
  select * into s from pawl.start_as(start ->> 'workflow', start -> 'input', o,
    json_build_object('tenant', options ->> 'tenant', 'id', v.known,
                      'key', v.key, 'by', options ->> 'by'));
  home := pawl.shard_of(s.id);
  n := pawl.send_letter(s.id, name, data, options, event, source, true);
  if s.created then
    update pawl.instance i
       set trigger_event = signal_start.event,
           trigger_source = nullif(signal_start.source, '')
     where i.shard = v.home and i.id = s.id and i.commits = 0;
  end if;
  if s.mark is not null then
    insert into pawl.event as e (shard, tenant, source, id, name, data, posted,
           received_at, expires_at)
    values (v.home, '', '', s.mark, 'start', to_json(s.id), true, now(),
            now() + coalesce((options ->> 'ttl_us')::bigint, 86400000000)
                    * interval '1 microsecond')
    on conflict (shard, tenant, source, id) do update
       set data = excluded.data, received_at = excluded.received_at,
           expires_at = excluded.expires_at, ord = excluded.ord
     where e.expires_at <= excluded.received_at;
  end if;
  return json_build_object('reached', n, 'id', event, 'instance', s.id,
                           'created', s.created, 'repeated', n = 0);
end $$;

-- only: postgres
-- To one instance it goes at once. To all that wait for it an engine posts it
-- behind the commit, as what a process that died has left: who begins to wait
-- meanwhile looks for it by itself, and would not see what is not committed.
create function pawl.signal(name text, data json default null,
                            options json default '{}') returns json
  language plpgsql set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
<<v>>
declare
  came uuid := pawl.draw_id(); id text; source text; n integer;
begin
  perform pawl.check_name('an event''s name', signal.name);
  options := coalesce(signal.options, '{}');
  perform pawl.check_options('a signal', options, '{"key": "string",
    "instance": "string", "id": "string", "source": "string", "tenant":
    "string", "by": "string", "ttl_us": "number 1 999999999999999999",
    "start": "object of any size"}');
  if json_typeof(signal.data) = 'null' then
    data := null;
  elsif octet_length(signal.data::text) > 1000000 then
    perform pawl.refuse('limit', '54000', 'a signal''s data has more than'
      ' 1000000 bytes', '');
  end if;
  perform pawl.check_json('a signal''s data', signal.data);
  v.id := coalesce(options ->> 'id', v.came::text);
  v.source := coalesce(options ->> 'source', '');
  if options ->> 'start' is not null then
    if options ->> 'instance' is not null then
      perform pawl.refuse('invalid', '22023', 'a signal''s "instance" and'
        ' "start" exclude each other', '');
    end if;
    return pawl.signal_start(options -> 'start', options, signal.name,
                             signal.data, v.id, v.source);
  elsif options ->> 'instance' is not null then
    if options ->> 'instance' !~* ('^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-'
                                   '[0-9a-f]{4}-[0-9a-f]{12}$') then
      perform pawl.refuse('invalid', '22023',
        'option "instance" is a whole id', '');
    end if;
    n := pawl.send_letter((options ->> 'instance')::uuid, signal.name,
                          signal.data, options, v.id, v.source, false);
    return json_build_object('reached', n, 'id', v.id, 'instance',
      lower(options ->> 'instance'), 'repeated', n = 0);
  end if;
  insert into pawl.event as e (shard, tenant, source, id, name, key, data,
         by, came, posted, received_at, expires_at)
  values (pawl.event_shard(v.id), coalesce(options ->> 'tenant', ''),
          v.source, v.id, signal.name, options ->> 'key', signal.data,
          options ->> 'by', v.came, false, now(),
          now() + coalesce((options ->> 'ttl_us')::bigint, 86400000000)
                  * interval '1 microsecond')
  on conflict (shard, tenant, source, id) do update
     set name = excluded.name, key = excluded.key, data = excluded.data,
         by = excluded.by, came = excluded.came, posted = false,
         received_at = excluded.received_at, ord = excluded.ord,
         expires_at = excluded.expires_at
   where e.expires_at <= excluded.received_at;
  get diagnostics v.n = row_count;
  return json_build_object('reached', 0, 'id', v.id, 'repeated', v.n = 0);
end $$;

-- only: postgres
-- How one stands, and what came of it; of one that is archived from its own line
-- (see pawl.filed).
create function pawl.result(id uuid, out status text, out output json,
                            out error json)
  language plpgsql stable set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
declare own text;
begin
  select case when i.status = 'running' and i.started_at is null
              then 'created' else i.status end, i.output, i.error
    into status, output, error
    from pawl.instance i
   where i.shard = pawl.shard_of(result.id) and i.id = result.id
     and i.deleted_at is null;
  if found then
    return;
  end if;
  select a.status, split_part(a.document, chr(10), 2), a.error
    into status, own, error
    from pawl.archive a
   where a.shard = pawl.shard_of(result.id) and a.id = result.id
     and a.purged_at is null;
  if not found then
    perform pawl.refuse('notfound', 'P0002', format('there is no instance %s',
      result.id), '');
  end if;
  begin
    output := own::json -> 'output';
  exception when others then -- \u0000 in it, or damage
    perform pawl.refuse('conflict', '55000', format('instance %s is archived,'
      ' and its output cannot be taken from there', result.id),
      'unarchive it first, or read it with the library');
  end;
end $$;
comment on function pawl.start is
  'starts an instance in the caller''s transaction, or gives the one that has the key';
comment on function pawl.signal is
  'sends an event in the caller''s transaction: at once to one instance, behind the commit to all that wait for it';
comment on function pawl.result is 'how an instance stands, and what came of it';

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
insert into pawl.waiter (shard, instance, expires_at)
select 0, id, now() from pawl.instance;
insert into pawl.deadline (shard, instance, deadline_at)
select 0, id, now() from pawl.instance;
insert into pawl.agenda (shard, instance, workflow, version,
       executor_group, priority, ready, due_at, takeovers, latch)
select 0, id, 'w', 1, 'default', 0, id::text < '00000000-0000-7000-8000-000000000064', now(),
       0, 0
  from pawl.instance;
insert into pawl.history (shard, instance, seq, type, completed_at)
select 0, id, 1, 'step', now() from pawl.instance;
insert into pawl.audit (shard, at, id, type, by, instance)
select 0, now(), id, 'claimed', id::text, id from pawl.instance;
insert into pawl.published (shard, instance, answers, name, value, updated_at)
select 0, id, false, 'n', '1', now() from pawl.instance;
insert into pawl.variable (shard, instance, part, members)
select 0, id, ':0', '' from pawl.instance;
insert into pawl.inbox (shard, instance, no, kind, received_at)
select 0, id, id, 'cancel', now() from pawl.instance;
insert into pawl.attribute (shard, instance, name, type, text_value, sortable,
       updated_at)
select 0, id, 'a', 'string', 'x', 's' || id::text, now()
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
insert into pawl.archive (shard, id, workflow, version, tenant, priority,
       executor_group, business_key, correlation, key, parent, root, status,
       created_at, updated_at, archived_at, rest)
select 0, id, id::text, 1, id::text, 0, 'default', id::text, id::text,
       id::text, id, id, 'completed', now(), now(), now(), false
  from pawl.instance;
analyze pawl.instance, pawl.standing, pawl.waiter, pawl.deadline,
        pawl.published, pawl.variable, pawl.agenda,
        pawl.history, pawl.audit, pawl.inbox, pawl.attribute,
        pawl.subscription, pawl.event, pawl.task, pawl.owner, pawl.archive;
-- Not deleted: what is left of rows would make some indexes deeper than others.
truncate pawl.archive, pawl.owner, pawl.task, pawl.event, pawl.subscription, pawl.attribute,
         pawl.inbox, pawl.audit, pawl.history, pawl.agenda, pawl.standing,
         pawl.waiter, pawl.deadline, pawl.published, pawl.variable,
         pawl.instance;
