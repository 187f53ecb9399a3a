-- The agenda: what to look at, and when. Claims, leases, releases.

-- name: agenda_next
-- args: @shard smallint, @now time?
-- rows: due_at time, now time
-- The earliest row that is not ready yet: a timer, a retry or a lease's end.
-- Not by min(): a table that was counted empty is then walked whole.
select (select due_at from pawl.agenda
         where shard = @shard and not ready
         order by due_at limit 1) as due_at,
       {{now}} as now;

-- name: agenda_wake
-- args: @shard smallint, @id uuid, @now time?
-- Something has come in from outside. On a leased row only the latch rises:
-- its holder looks again when it commits.
{{wake_row}}
 where shard = @shard and id = @id
   and status in ('running', 'waiting', 'suspended')
{{raise_latch}};

-- name: agenda_revive
-- args: @shard smallint, @id uuid, @now time?, @completed boolean,
--       @cancelled boolean, @deleted boolean
-- The same for an instance that may have failed, or been @completed,
-- @cancelled or @deleted, and is asked for something all the same.
{{wake_row}}
 where shard = @shard and id = @id and (deleted_at is null or @deleted)
   and (status in ('running', 'waiting', 'suspended', 'failed')
        or status = 'completed' and @completed
        or status = 'cancelled' and @cancelled)
{{raise_latch}};

-- name: agenda_unwake
-- args: @shard smallint, @id uuid
-- Of one that has ended, and was waked to be locked: if nobody else asks for
-- anything, there is nothing to look at.
delete from pawl.agenda
 where shard = @shard and instance = @id and lease is null
   and not exists (select 1 from pawl.inbox
                    where shard = @shard and instance = @id and not taken
                      and kind not in ('event', 'child', 'task'));

-- name: agenda_free
-- Of a copy that takes its original's place: nobody holds anything in it, and
-- a lease of before is none.
update pawl.agenda
   set lease = null, executor = was_executor, ready = true,
       due_at = coalesce(was_due_at, due_at)
 where lease is not null;

-- name: agenda_of
-- args: @shard smallint, @code text, @is_prefix boolean, @after uuid,
--       @max integer
-- rows: instance uuid
-- Instances of a workflow, or of all whose codes begin so, that are looked at
-- some time: a page of them, in the order of their ids.
select instance from pawl.agenda
 where shard = @shard and instance > @after
   and case when @is_prefix then left(workflow, length(@code)) = @code
            else workflow = @code end
 order by instance limit @max;

-- name: agenda_blame
-- args: @shard smallint, @id uuid, @lease uuid, @takeovers integer
-- rows: instance uuid
-- What another would count on from, if this executor died now.
update pawl.agenda set takeovers = @takeovers
 where shard = @shard and instance = @id and lease = @lease
returning instance;

-- name: agenda_get
-- args: @shard smallint, @id uuid, @now time?
-- rows: ready boolean, due_at time, lease uuid, executor uuid,
--       takeovers integer, latch integer, host text, pid bigint??, now time
-- Differs: PostgreSQL is kept from walking all executors.
select a.ready, a.due_at, a.lease, a.executor, a.takeovers, a.latch, e.host,
       e.pid, {{now}} as now
  from pawl.agenda a
-- only: postgres
  left join lateral (
   select host, pid from pawl.executor where id = a.executor offset 0) e
    on true
-- only: sqlite
  left join pawl.executor e on e.id = a.executor
-- for all
 where a.shard = @shard and a.instance = @id;

-- name: agenda_lock
-- args: @shard smallint, @id uuid[], @lease uuid[], @latch integer??[]
-- rows: instance uuid, latch integer
-- First statement of every commit: locks the rows still held, in the order of
-- their ids. A latch that is given must be as it was loaded.
-- Here and wherever rows are taken from a list: each is found by its key, in
-- a lateral select that no join can turn round (its `offset 0`, or its lock),
-- and written where it stands (ctid). A plain join with the list would walk
-- all of the shard, once its plan was made while the table was counted empty.
-- The list's limit says nothing but that it may be short: for ten rows, which
-- the planner takes an array for, it would rather walk a table of one.
-- A row that has moved since the statement began is not there any more: so
-- only rows are written thus that are locked by then, as all of an instance's
-- are behind this statement, or that may be passed by. Others are written by
-- `on conflict`, which takes them as they are now.
select a.instance, a.latch
-- only: postgres
  from (select * from unnest(@id, @lease, @latch) as u (id, lease, latch)
         order by id) s cross join lateral (
-- only: sqlite
  from (
-- for all
  select instance, latch from pawl.agenda
   where shard = @shard and instance = s.id and lease = s.lease
     and (s.latch is null or latch = s.latch) for update) a;

-- name: agenda_lock_one
-- args: @shard smallint, @id uuid
-- rows: lease uuid
-- Waits for whoever still holds the row's lock, a dead connection's backend
-- for one: a plain read would tell the state before its commit.
select lease from pawl.agenda
 where shard = @shard and instance = @id for update;

-- name: agenda_pin
-- args: @shard smallint, @id uuid, @lease uuid, @version integer
-- Started when nobody knew its workflow: now somebody does.
update pawl.agenda set version = @version
 where shard = @shard and instance = @id and lease = @lease;

-- name: agenda_latches
-- args: @shard smallint, @id uuid[], @lease uuid[]
-- rows: instance uuid, latch integer
-- Those that are still held so: while their handlers wait.
select a.instance, a.latch {{from_each}} (
   select instance, latch from pawl.agenda
    where shard = @shard and instance = s.id and lease = s.lease offset 0) a;

-- name: agenda_aside
-- args: @shard smallint, @id uuid[], @lease uuid[]
-- rows: instance uuid, latch integer, suspended boolean
-- Those that are still held so, and whether their workflow is suspended: asked
-- at the beginning of a tick about what the last one has left to it.
select a.instance, a.latch, ({{suspended a.workflow}}) as suspended
       {{from_each}} (
   select instance, latch, workflow from pawl.agenda
    where shard = @shard and instance = s.id and lease = s.lease offset 0) a;

-- name: agenda_relet
-- args: @shard smallint, @id uuid, @lease uuid, @new_lease uuid
-- rows: instance uuid
-- After a commit whose answer was lost: the claim goes on under a new id, so
-- that the old commit can never land.
update pawl.agenda set lease = @new_lease
 where shard = @shard and instance = @id and lease = @lease
returning instance;
