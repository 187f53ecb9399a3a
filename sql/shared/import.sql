-- Rows of an instance that was exported from another store (export.sql), as
-- they were there. An instance that is here already stays as it is; else
-- everything of it is new.

-- name: import_workflow
-- args: @{{carried_workflow}}
-- It does not start here before somebody says so: its number may be higher than
-- those that do.
insert into pawl.workflow ({{carried_workflow}}, active, current)
select {{carried_workflow @}}, false, true
 where true
on conflict do nothing;

-- name: import_knows
-- args: @code text, @version integer
-- rows: sha256 text
-- All revisions of a version that are here.
select sha256 from pawl.workflow where code = @code and version = @version;

-- name: import_graph
-- args: @shard smallint, @id uuid
-- rows: graph json
-- What one that has come runs by here; null, if nobody knows that here. No join:
-- that could be planned as a walk.
select (select w.graph from pawl.workflow w
         where w.code = i.workflow and w.version = i.version and w.current)
       as graph
  from pawl.instance i where i.shard = @shard and i.id = @id;

-- name: import_instance
-- args: @shard smallint, @{{carried_instance}}
-- With its place in standing, and counted among those that have come.
-- Differs: in SQLite a trigger counts it.
with new as ( -- only: postgres
insert into pawl.instance (shard, {{carried_instance}})
select @shard, {{carried_instance @}}
 where true
on conflict do nothing
-- only: postgres
returning *), counted as (
insert into pawl.counter ({{counter_columns}})
select @shard, workflow, version,
       case when b.is_back then 'archived' else '' end, '',
       case when deleted_at is null then status else 'deleted' end,
       case when deleted_at is null
            then {{counted_node status; token_no; node}} else '' end,
       case when b.is_back then to_timestamp(0)
            else date_trunc('minute', created_at) end, 1
  from new cross join lateral (
    select exists (select 1 from pawl.archive a
                    where a.shard = @shard and a.id = new.id offset 0)
             as is_back offset 0) b)
insert into pawl.standing (shard, workflow, status, instance)
select @shard, workflow, status, id from new
-- for all
;

-- name: import_deadline
-- args: @shard smallint, @id uuid
-- Of one that has come and lives.
insert into pawl.deadline (shard, instance, deadline_at)
select shard, id, deadline_at from pawl.instance
 where shard = @shard and id = @id and {{has_deadline}}
on conflict do nothing;

-- name: import_archived
-- args: @shard smallint, @id uuid
-- rows: id uuid, purged boolean
-- Behind import_instance: what the archive has with this id, or its key.
select id, purged_at is not null as purged from pawl.archive
 where shard = @shard and id = @id
union all
select a.id, false
  from (select workflow, key, tenant from pawl.instance -- only: postgres
         where shard = @shard and id = @id offset 0) i -- only: postgres
  from pawl.instance i -- only: sqlite
 cross join
-- only: postgres
  lateral (select id, successor, purged_at, tenant from pawl.archive
            where shard = @shard and key = i.key and workflow = i.workflow
           offset 0) a
 where coalesce(a.tenant, '') = coalesce(i.tenant, '')
-- only: sqlite
  pawl.archive a
 where i.shard = @shard and i.id = @id and a.shard = @shard
   and a.key = i.key and a.workflow = i.workflow
   and coalesce(a.tenant, '') = coalesce(i.tenant, '')
-- for all
   and a.successor is null and a.purged_at is null and a.id <> @id;

-- name: import_agenda
-- args: @shard smallint, @instance uuid, @{{carried_agenda}}
-- Differs: in SQLite a trigger may have put it there.
insert into pawl.agenda (shard, instance, {{carried_agenda}}, latch)
select @shard, @instance, {{carried_agenda @}}, 0
 where true
on conflict (shard, instance) do update
   set ready = excluded.ready, due_at = excluded.due_at,
       takeovers = excluded.takeovers;

-- name: import_variable
-- args: @shard smallint, @instance uuid, @{{carried_variable}}[]
insert into pawl.variable (shard, instance, {{carried_variable}})
select @shard, @instance, {{carried_variable s.}}
  from {{rows}} -- only: postgres
;

-- name: import_token
-- args: @shard smallint, @instance uuid, @{{carried_token}}[]
insert into pawl.token (shard, instance, {{carried_token}})
select @shard, @instance, {{carried_token s.}}
  from {{rows}} -- only: postgres
;

-- name: import_item
-- args: @shard smallint, @instance uuid, @{{carried_item}}[]
insert into pawl.item (shard, instance, {{carried_item}})
select @shard, @instance, {{carried_item s.}}
  from {{rows}} -- only: postgres
;

-- name: import_history
-- args: @shard smallint, @instance uuid, @{{carried_history}}[]
insert into pawl.history (shard, instance, {{carried_history}})
select @shard, @instance, {{carried_history s.}}
  from {{rows}} -- only: postgres
;

-- name: import_inbox
-- args: @shard smallint, @instance uuid, @{{carried_inbox}}[]
insert into pawl.inbox (shard, instance, {{carried_inbox}})
select @shard, @instance, {{carried_inbox s.}}
  from {{rows}} -- only: postgres
;

-- name: import_subscription
-- args: @shard smallint, @instance uuid, @{{carried_subscription}}[]
insert into pawl.subscription (shard, instance, {{carried_subscription}})
select @shard, @instance, {{carried_subscription s.}}
  from {{rows}} -- only: postgres
;

-- name: import_message
-- args: @shard smallint, @instance uuid, @{{carried_message}}[]
insert into pawl.message (shard, instance, {{carried_message}})
select @shard, @instance, {{carried_message s.}}
  from {{rows}} -- only: postgres
;

-- name: import_ending
-- args: @shard smallint, @instance uuid, @{{carried_ending}}[]
insert into pawl.ending (shard, instance, {{carried_ending}})
select @shard, @instance, {{carried_ending s.}}
  from {{rows}} -- only: postgres
;

-- name: import_failure
-- args: @shard smallint, @instance uuid, @{{carried_failure}}[]
insert into pawl.failure (shard, instance, {{carried_failure}})
select @shard, @instance, {{carried_failure s.}}
  from {{rows}} -- only: postgres
;

-- name: import_outbox
-- args: @shard smallint, @instance uuid, @{{carried_outbox}}[]
insert into pawl.outbox (shard, instance, {{carried_outbox}})
select @shard, @instance, {{carried_outbox s.}}
  from {{rows}} -- only: postgres
;

-- name: import_published
-- args: @shard smallint, @instance uuid, @{{carried_published}}[]
insert into pawl.published (shard, instance, {{carried_published}})
select @shard, @instance, {{carried_published s.}}
  from {{rows}} -- only: postgres
;

-- name: import_task
-- args: @shard smallint, @instance uuid, @{{carried_task}}[]
insert into pawl.task (shard, instance, {{carried_task}})
select @shard, @instance, {{carried_task s.}}
  from {{rows}} -- only: postgres
;

-- name: import_owner
-- args: @shard smallint, @{{carried_owner}}[]
insert into pawl.owner (shard, {{carried_owner}})
select @shard, {{carried_owner s.}}
  from {{rows}} -- only: postgres
;

-- name: import_attribute
-- args: @shard smallint, @instance uuid, @{{carried_attribute}}[]
insert into pawl.attribute (shard, instance, {{carried_attribute}})
select @shard, @instance, {{carried_attribute s.}}
  from {{rows}} -- only: postgres
;

-- name: import_audit
-- args: @shard smallint, @instance uuid, @{{carried_audit}}[]
-- One that comes from the archive has left them here.
insert into pawl.audit (shard, id, instance, workflow, tenant,
       {{carried_audit}})
select @shard, t.id, t.id, t.workflow, t.tenant, {{carried_audit s.}}
  from {{rows}} cross join lateral ( -- only: postgres
   select id, workflow, tenant from pawl.instance -- only: postgres
    where shard = @shard and id = @instance offset 0) t -- only: postgres
 where true -- only: postgres
  from pawl.instance t -- only: sqlite
 where t.shard = @shard and t.id = @instance -- only: sqlite
on conflict do nothing;
