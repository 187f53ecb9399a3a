-- What explaining an instance reads beside instance_get, token_list and
-- agenda_get: from many tables, of one instance.

-- name: explain_suspension
-- args: @shard smallint, @id uuid
-- rows: code text, is_prefix boolean, reason text, by text,
--       suspended_at time
-- Who has suspended its workflow as a whole.
select s.code, s.is_prefix, s.reason, s.by, s.suspended_at
  from pawl.instance i
  join pawl.suspension s on case when s.is_prefix
         then left(i.workflow, length(s.code)) = s.code
         else i.workflow = s.code end
 where i.shard = @shard and i.id = @id
 order by s.suspended_at limit 1;

-- name: explain_executor
-- args: @shard smallint, @id uuid, @now time?
-- rows: holder uuid, host text, pid bigint, workers bigint,
--       has_stopped boolean
-- Who holds it, how many workers of its group are alive; and, of one that has
-- failed, is it known where it stood?
-- Differs: PostgreSQL is kept from walking all executors.
select e.id as holder, e.host, e.pid,
       (select count(*) from pawl.executor o
         where o.executor_group = i.executor_group and o.stopped_at is null
           and o.recovered_at is null and o.expires_at > {{now}}) as workers,
       i.stopped is not null as has_stopped
  from pawl.instance i
  left join pawl.agenda a on a.shard = @shard and a.instance = @id
-- only: postgres
  left join lateral (
   select * from pawl.executor where id = a.executor offset 0) e
    on true
-- only: sqlite
  left join pawl.executor e on e.id = a.executor
-- for all
 where i.shard = @shard and i.id = @id;

-- name: explain_subscription
-- args: @shard smallint, @id uuid
-- rows: token integer, pattern text, key text, since time, due_at time
select token, pattern, key, since, due_at
  from pawl.subscription where shard = @shard and instance = @id
 order by token;

-- name: explain_task
-- args: @shard smallint, @id uuid
-- rows: id uuid, token integer, visit bigint, title text, status text,
--       priority text, due_at time, assignee text, claimed_by text,
--       escalated_at time, error json
-- What people still have to do for it; a failed one can be tried again.
-- Differs: each is told by its own means which index to use.
select id, token, visit, title, status, priority, due_at, assignee,
       claimed_by, escalated_at, error
  from pawl.task
       indexed by pawl_task_visit -- only: sqlite
 where shard = @shard and instance = @id
-- only: postgres
   and coalesce(status in ('pending', 'running', 'failed'), false)
-- only: sqlite
   and status in ('pending', 'running', 'failed')
-- for all
 order by token, visit;

-- name: explain_child
-- args: @shard smallint[], @home smallint, @id uuid, @max integer
-- rows: id uuid, workflow text, version integer, status text,
--       parent_token integer, parent_visit bigint, parent_node text,
--       parent_index integer??, created_at time
-- Children that live, and one that a call still waits for though it has
-- ended: its result is on the way.
select c.* {{from_each}} (
  select id, workflow, version,
         {{shown_status t.shard; t.id; t.status}},
         {{member parent_place; token}}::integer as parent_token,
         {{member parent_place; visit}}::bigint as parent_visit,
         {{shown_place parent_place}}, created_at
    from pawl.instance t
   where t.shard = s.shard and t.parent = @id and deleted_at is null
     and (t.status in ('running', 'waiting', 'suspended')
          or {{member t.parent_place; index}} is null
             and ({{member t.parent_place; token}}::integer,
                  {{member t.parent_place; visit}}::bigint) in (
              select token_no, visit from pawl.instance
               where shard = @home and id = @id and token_state = 'waiting'
              union all
              select no, visit from pawl.token
               where shard = @home and instance = @id
                 and state = 'waiting'))
   order by id limit @max) c;

-- name: explain_inbox
-- args: @shard smallint, @id uuid, @max integer
-- rows: kind text, name text, key text, source text, by text,
--       received_at time, total bigint
-- What has come in and was not taken, and how much that is in all.
select kind, name, key, source, by, received_at, count(*) over () as total
  from pawl.inbox
 where shard = @shard and instance = @id and not taken
 order by no limit @max;

-- name: explain_assigned
-- args: @shard smallint[], @home smallint, @id uuid, @now time?, @max integer
-- rows: token integer, name text
-- Events for waits of its that take one, which others have been assigned and
-- not taken yet; among the newest that are under way.
select v.token, v.name {{from_each}} (
  select s.token, e.name
    from (select tenant, key, name, expires_at from pawl.event
           where shard = s.shard and assigned_at is not null
           order by assigned_at desc limit @max) e
    join (select token, tenant, pattern, key, free from pawl.subscription
           where shard = @home and instance = @id offset 0) s
      on s.tenant = e.tenant and s.key = e.key and {{pattern_fits e}}
   where s.free and e.expires_at > {{now}}) v;

-- name: explain_history
-- args: @shard smallint, @id uuid, @max integer
-- rows: seq bigint, type text, node text, token integer, visit bigint,
--       attempt integer, by text, text text, error json,
--       completed_at time, due_at time, asked boolean
-- The newest rows that say why it stands: failures, suspensions, and
-- events that a wait could not judge. asked: by a request, which may have been
-- refused as well.
select seq, type, node, token, visit, attempt, by, text, error,
       completed_at, due_at, request is not null as asked
  from pawl.history
 where shard = @shard and instance = @id
   and type in ('failed', 'suspended', 'undo_failed', 'refused')
 order by seq desc limit @max;

-- name: explain_message
-- args: @shard smallint, @id uuid
-- rows: kind text, n bigint
-- What it has asked of other instances and was not delivered yet.
select kind, count(*) as n
  from pawl.message where shard = @shard and instance = @id
 group by kind order by kind;
