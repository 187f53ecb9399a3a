-- All rows of an instance, as they are stored, and back. What tables there are,
-- and what of each is carried, is these lists of columns: C reads and writes
-- lines by them (engine/common/lines.h), and a spec compares them with the
-- schema. Rows come in the order of their key, so that the same rows are the
-- same text.

-- columns: carried_workflow
--   code text, version integer, revision integer, name text,
--   description text, graph json, source text, bundle json, sha256 text,
--   inline boolean, trust text, author text, grants json,
--   executor_group text, created_at time, modified_at time, by text,
--   reason text

-- columns: carried_instance
--   id uuid, workflow text, version integer, tenant text, priority smallint,
--   executor_group text, business_key text, correlation text, key text,
--   parent uuid, root uuid, parent_place json,
--   trigger_event text, trigger_source text, input json, metadata json,
--   started_by text, lasts bigint, max_bytes bigint, created_at time,
--   tokens integer, children integer,
--   parts integer, sent bigint, immediate bigint, joined json, stopped json,
--   compensation json, deadline_at time, suspended_at time, deletion json,
--   deleted_at time, away json, started_at time, status text, token_no integer,
--   token_state text, attempt integer, variables json, node text,
--   previous_node text, visit integer, token_data json, token_event json,
--   token_detail json, token_due_at time, commits integer, seq integer,
--   entered_at time, updated_at time, output json, error json, progress text,
--   progress_visit integer, cancellation json, completed_at time, successor uuid

-- columns: carried_agenda
--   workflow text, version integer, executor_group text, priority smallint,
--   ready boolean, due_at time, takeovers integer

-- columns: carried_variable
--   part text, members text

-- columns: carried_token
--   no integer, node text, state text, visit bigint, previous_node text,
--   parent integer, scope text, fork text, branch text, data json, event json,
--   detail json, attempt integer, due_at time, entered_at time,
--   created_at time, progress text

-- columns: carried_item
--   token integer, no integer, item json, state text, child uuid, result json,
--   error json

-- columns: carried_history
--   seq integer, completed_at time, started_at time, token integer,
--   visit integer, attempt integer, executor uuid, request uuid, type text,
--   node text, transition text, path text, by text, text text, output json,
--   changes json, error json, due_at time, previous json

-- columns: carried_inbox
--   no uuid, kind text, name text, key text, event_id text, source text,
--   by text, data json, received_at time, addressed boolean, taken boolean

-- columns: carried_subscription
--   token integer, pattern text, key text, since time, due_at time,
--   tenant text, free boolean??

-- columns: carried_message
--   seq bigint, kind text, target uuid, data json, created_at time

-- columns: carried_ending
--   due_at time, tries integer

-- columns: carried_failure
--   workflow text, code text, node text, failed_at time

-- columns: carried_outbox
--   seq bigint, type text, payload json, created_at time, attempts integer,
--   due_at time, error text, published_at time, tenant text, dead_at time,
--   by text, reason text

-- columns: carried_published
--   answers boolean, name text, value json, updated_at time

-- columns: carried_task
--   id uuid, token integer, node text, visit bigint, form text, title text,
--   description text, status text, priority text, input json, output json,
--   metadata json, signal text, error json, due_at time, assignee text,
--   delegated_by text, claimed_by text, claimed_at time, completed_by text,
--   completed_at time, transition text, escalated_at time, created_at time,
--   started_at time, updated_at time, commits integer, request uuid,
--   tenant text, log json, workflow text

-- columns: carried_owner
--   task uuid, kind text, id text, open boolean

-- columns: carried_attribute
--   name text, type text, text_value text, date_value time,
--   bytes_value bytes, float_value float, number_value numeric,
--   boolean_value boolean, sortable text, updated_at time

-- columns: carried_audit
--   at time, seq integer, type text, by text, version integer, node text,
--   text text

-- name: export_workflow
-- args: @code text, @version integer
-- rows: {{carried_workflow}}
-- The revision that runs.
select {{carried_workflow}} from pawl.workflow
 where code = @code and version = @version and current;

-- name: export_instance
-- args: @shard smallint, @id uuid
-- rows: {{carried_instance}}
-- Not one that is being purged: it is not whole any more.
select {{carried_instance}} from pawl.instance
 where shard = @shard and id = @id and purge_at is null;

-- name: export_agenda
-- args: @shard smallint, @id uuid
-- rows: {{carried_agenda}}
-- One that is held is as if its holder had died: to be looked at.
select workflow, version, executor_group, priority,
       case when lease is null then ready else true end as ready,
       case when lease is null then due_at
            else coalesce(was_due_at, due_at) end as due_at,
       takeovers
  from pawl.agenda where shard = @shard and instance = @id;

-- name: export_variable
-- args: @shard smallint, @id uuid
-- rows: {{carried_variable}}
select {{carried_variable}} from pawl.variable
 where shard = @shard and instance = @id order by part;

-- name: export_token
-- args: @shard smallint, @id uuid
-- rows: {{carried_token}}
select {{carried_token}} from pawl.token
 where shard = @shard and instance = @id order by no;

-- name: export_item
-- args: @shard smallint, @id uuid
-- rows: {{carried_item}}
select {{carried_item}} from pawl.item
 where shard = @shard and instance = @id order by token, no;

-- name: export_history
-- args: @shard smallint, @id uuid
-- rows: {{carried_history}}
select {{carried_history}} from pawl.history
 where shard = @shard and instance = @id order by seq;

-- name: export_inbox
-- args: @shard smallint, @id uuid
-- rows: {{carried_inbox}}
select {{carried_inbox}} from pawl.inbox
 where shard = @shard and instance = @id order by no;

-- name: export_subscription
-- args: @shard smallint, @id uuid
-- rows: {{carried_subscription}}
select {{carried_subscription}} from pawl.subscription
 where shard = @shard and instance = @id order by token;

-- name: export_message
-- args: @shard smallint, @id uuid
-- rows: {{carried_message}}
select {{carried_message}} from pawl.message
 where shard = @shard and instance = @id order by seq;

-- name: export_ending
-- args: @shard smallint, @id uuid
-- rows: {{carried_ending}}
select {{carried_ending}} from pawl.ending
 where shard = @shard and instance = @id;

-- name: export_failure
-- args: @shard smallint, @id uuid
-- rows: {{carried_failure}}
select {{carried_failure}} from pawl.failure
 where shard = @shard and instance = @id;

-- name: export_outbox
-- args: @shard smallint, @id uuid
-- rows: {{carried_outbox}}
select {{carried_outbox}} from pawl.outbox
 where shard = @shard and instance = @id order by seq;

-- name: export_published
-- args: @shard smallint, @id uuid
-- rows: {{carried_published}}
select {{carried_published}} from pawl.published
 where shard = @shard and instance = @id order by answers, name;

-- name: export_task
-- args: @shard smallint, @id uuid
-- rows: {{carried_task}}
select {{carried_task}} from pawl.task
 where shard = @shard and instance = @id order by token, visit;

-- name: export_owner
-- args: @shard smallint, @id uuid
-- rows: {{carried_owner}}
-- Of its tasks, in their order.
select o.task, o.kind, o.id, o.open
  from (select id, token, visit from pawl.task
         where shard = @shard and instance = @id offset 0) t
 cross join lateral ( -- only: postgres
  select task, kind, id, open from pawl.owner -- only: postgres
   where shard = @shard and task = t.id offset 0) o -- only: postgres
 cross join pawl.owner o on o.shard = @shard and o.task = t.id -- only: sqlite
 order by t.token, t.visit, o.kind, o.id;

-- name: export_attribute
-- args: @shard smallint, @id uuid
-- rows: {{carried_attribute}}
select {{carried_attribute}} from pawl.attribute
 where shard = @shard and instance = @id order by name;

-- name: export_audit
-- args: @shard smallint, @id uuid
-- rows: {{carried_audit}}
-- What rows of its history told that were trimmed; the rest is this store's.
select {{carried_audit}} from pawl.audit
 where shard + 1 = @shard + 1 and instance = @id and id = @id and seq > 0
 order by at, id, seq;
