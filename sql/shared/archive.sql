-- Instances that were archived: out of the tables of those that live, with all
-- their rows as one text (the lines of export.sql). Attributes stay where they
-- are, so that what is archived is found by them.

-- name: archive_insert
-- args: @shard smallint, @id uuid, @lease uuid, @deletion json, @rest boolean,
--       @document text, @now time?
-- One that is held, as it stands now.
insert into pawl.archive ({{archive_columns}}, deletion, archived_at, rest,
       document)
select {{archive_columns}}, @deletion, {{now}}, @rest, @document
  from pawl.instance
 where shard = @shard and id = @id
   and exists (select 1 from pawl.agenda
                where shard = @shard and instance = @id and lease = @lease);

-- name: archive_lock_tasks
-- args: @shard smallint, @id uuid
-- rows: id uuid
-- Who edits one meanwhile is waited for, and then seen.
select id from pawl.task where shard = @shard and instance = @id for update;

-- name: archive_lock_outbox
-- args: @shard smallint, @id uuid
-- rows: seq bigint
-- The same of who publishes, or gives up, what it has emitted.
select seq from pawl.outbox where shard = @shard and instance = @id for update;

-- name: archive_get
-- args: @shard smallint, @id uuid
-- rows: workflow text, version integer, status text, document text,
--       deletion json, archived_at time, purged_at time, successor uuid,
--       rest boolean, {{whose}}, parent_node text,
--       parent_index integer??, {{times}}
select workflow, version, status, document, deletion, archived_at, purged_at,
       successor, rest, {{whose}}, {{shown_place parent_place}}, {{times}}
  from pawl.archive where shard = @shard and id = @id;

-- name: archive_lock
-- args: @shard smallint, @id uuid
-- rows: id uuid, successor uuid, rest boolean, archived_at time,
--       purged_at time
-- Whoever brings it back, or takes its key, does so behind this.
select id, successor, rest, archived_at, purged_at from pawl.archive
 where shard = @shard and id = @id for update;

-- name: archive_succeed
-- args: @shard smallint, @id uuid, @successor uuid
update pawl.archive set successor = @successor
 where shard = @shard and id = @id;

-- name: archive_done
-- args: @shard smallint, @id uuid
-- Nothing is left of it elsewhere.
update pawl.archive set rest = false where shard = @shard and id = @id;

-- name: archive_left_of
-- args: @shard smallint, @id uuid
-- rows: since time
-- Rows of it are still elsewhere: each batch of them goes behind this. By its
-- key: an index of all that have a rest would be walked.
select case when rest then archived_at end as since from pawl.archive
 where shard = @shard and id = @id for update;

-- name: archive_left
-- args: @shard smallint, @max integer
-- rows: id uuid
-- Those of which rows are still elsewhere.
select id from pawl.archive where shard + 0 = @shard and rest limit @max;

-- name: archive_remove
-- args: @shard smallint, @id uuid
delete from pawl.archive where shard = @shard and id = @id;

-- name: archive_purge
-- args: @shard smallint, @id uuid, @deletion json, @now time?
-- It goes, but for what it is found by.
update pawl.archive
   set document = null, rest = false, purged_at = {{now}},
       deletion = @deletion
 where shard = @shard and id = @id;

-- name: archive_count
-- args: @shard smallint, @id uuid
-- It goes for good: counted before that.
insert into pawl.counter (shard, workflow, version, was, was_node, status,
       node, minute, amount)
select shard, workflow, version, 'archived', '', 'purged', '',
       to_timestamp(0), 1 -- only: postgres
       0, 1 -- only: sqlite
  from pawl.archive where shard = @shard and id = @id and purged_at is null
on conflict do update set amount = amount + 1 -- only: sqlite
;

-- name: archive_tell
-- args: @shard smallint, @id uuid
-- What its history tells the audit goes with that; here it stays, under the
-- same time, id and number, so that whoever pages is not confused.
insert into pawl.audit (shard, at, id, seq, type, by, instance, workflow,
       version, tenant, node, text)
select @shard, h.completed_at, h.instance, h.seq, h.type, h.by, h.instance,
       a.workflow, a.version, a.tenant, h.node, h.text
  from pawl.archive a
  join pawl.history h on h.shard = @shard and h.instance = @id
 where a.shard = @shard and a.id = @id and nullif(h.by, '') is not null
union all
select @shard, a.created_at, a.id, 0, 'started', a.started_by, a.id,
       a.workflow, a.version, a.tenant, null::text, null::text
  from pawl.archive a
 where a.shard = @shard and a.id = @id and a.started_by is not null;

-- name: archive_untell
-- args: @shard smallint, @id uuid
-- Its history has it again, but for what was trimmed. (Said so that no index by
-- id seems to serve.)
delete from pawl.audit
 where shard + 1 = @shard + 1 and instance = @id and (id = @id) is true
   and (seq = 0
        or seq in (select h.seq from pawl.history h
                    where h.shard = @shard and h.instance = @id
                      and nullif(h.by, '') is not null));

-- name: archive_tasks
-- args: @shard smallint, @id uuid
-- A task's id does not say whose it is.
insert into pawl.archived_task (shard, id, instance, tenant)
select shard, id, instance, tenant from pawl.task
 where shard = @shard and instance = @id and instance is not null;

-- name: archive_task_of
-- args: @shard smallint, @id uuid
-- rows: instance uuid
select instance from pawl.archived_task where shard = @shard and id = @id;

-- name: archive_untask
-- args: @shard smallint, @id uuid
delete from pawl.archived_task
 where shard + 1 = @shard + 1 and instance = @id;

-- name: archive_note
-- args: @shard smallint, @id uuid, @instance uuid, @type text, @by text,
--       @text text, @request uuid, @now time?
-- Who has archived one, brought it back, or purged it.
insert into pawl.audit (shard, at, id, type, by, instance, workflow, version,
       tenant, text, request)
select @shard, {{now}}, @id, @type, @by, a.id, a.workflow, a.version,
       a.tenant, @text, @request
  from pawl.archive a where a.shard = @shard and a.id = @instance;
