-- The agenda: what to look at, and when. Claims, leases, releases.

-- name: agenda_next
-- args: @shard smallint, @now time
-- rows: due_at time, now time
-- The earliest row that is not ready yet: a timer, a retry or a lease's end.
-- Not by min(): a table that was counted empty is then walked whole.
select (select due_at from pawl.agenda
         where shard = @shard and not ready
         order by due_at limit 1) as due_at,
       coalesce(@now, now()) as now;

-- name: agenda_routes
-- args: @shard smallint, @executor_group text
-- rows: workflow text, workflow_version integer, suspect boolean
-- Which workflow versions have ready rows: jumps from one to the next in the
-- index, so the cost is in the number of versions, not of rows. Suspended
-- workflows are left out; so they are of claims, which may come later.
with recursive fresh as (
  (select workflow, workflow_version from pawl.agenda
    where shard = @shard and executor_group = @executor_group
      and ready and lease is null and takeovers = 0
    order by workflow, workflow_version limit 1)
  union all
  select n.workflow, n.workflow_version from fresh f cross join lateral (
    select workflow, workflow_version from pawl.agenda a
     where shard = @shard and executor_group = @executor_group
       and ready and lease is null and takeovers = 0
       and (a.workflow, a.workflow_version) > (f.workflow, f.workflow_version)
     order by workflow, workflow_version limit 1) n
), suspect as (
  (select workflow, workflow_version from pawl.agenda
    where shard = @shard and executor_group = @executor_group
      and ready and (lease is not null or takeovers > 0)
    order by workflow, workflow_version limit 1)
  union all
  select n.workflow, n.workflow_version from suspect f cross join lateral (
    select workflow, workflow_version from pawl.agenda a
     where shard = @shard and executor_group = @executor_group
       and ready and (lease is not null or takeovers > 0)
       and (a.workflow, a.workflow_version) > (f.workflow, f.workflow_version)
     order by workflow, workflow_version limit 1) n
)
select workflow, workflow_version, suspect
  from (select workflow, workflow_version, false as suspect from fresh
        union all
        select workflow, workflow_version, true from suspect) f
 where not exists (select from pawl.suspension p
                    where not p.is_prefix and p.code = f.workflow)
   and not exists (select from pawl.suspension p
                    where p.is_prefix
                      and left(f.workflow, length(p.code)) = p.code);

-- name: agenda_promote
-- args: @shard smallint, @now time, @max integer
-- Makes due rows ready: an index led by priority cannot skip what is due
-- later. A leased row whose lease has ended becomes ready the same way.
with due as materialized (
  select ctid as place from pawl.agenda
   where shard = @shard and not ready and due_at <= coalesce(@now, now())
   order by due_at limit @max for update skip locked)
update pawl.agenda a set ready = true
  from due where a.shard = @shard and a.ctid = due.place;

-- name: agenda_claim
-- args: @shard smallint, @executor_group text, @workflow text[],
--       @workflow_version integer[], @lease uuid, @executor uuid,
--       @lease_us bigint, @now time, @max integer
-- rows: instance uuid, takeovers integer, latch integer, due_before time,
--       executor_before uuid, priority smallint, now time
-- Candidates are read without locks, twice as many as wanted, so that rivals
-- find other rows further down; then locked. Who finds all of them locked, by
-- several rivals at once, looks further. Materialized, because a bare IN (...)
-- may be run twice and lock past @max.
-- Rows are found again where they stand (ctid), which costs no index: one that
-- has moved meanwhile was touched by somebody, and is passed by.
with candidate as materialized (
  select a.place, a.priority, a.due_at
    from unnest(@workflow, @workflow_version) as w (workflow, version)
   cross join lateral (
     select ctid as place, priority, due_at from pawl.agenda
      where shard = @shard and executor_group = @executor_group
        and workflow = w.workflow and workflow_version = w.version
        and ready and lease is null and takeovers = 0
      order by priority desc, due_at limit 2 * @max) a
   where not exists (select from pawl.suspension p
                      where not p.is_prefix and p.code = w.workflow)
     and not exists (select from pawl.suspension p
                      where p.is_prefix
                        and left(w.workflow, length(p.code)) = p.code)
   order by a.priority desc, a.due_at limit 2 * @max
), near as materialized (
  select a.place
    from candidate c
   cross join lateral (
    select ctid as place from pawl.agenda
     where shard = @shard and ctid = c.place
       and ready and lease is null and takeovers = 0
       for update skip locked) a
   limit @max
), far as materialized (
  select a.place
    from (select unnest(@workflow) as workflow,
                 unnest(@workflow_version) as version
           where not exists (select from near)
             and (select count(*) from candidate) >= 2 * @max) w
   cross join lateral (
     select ctid as place from pawl.agenda
      where shard = @shard and executor_group = @executor_group
        and workflow = w.workflow and workflow_version = w.version
        and ready and lease is null and takeovers = 0
      order by priority desc, due_at limit 32 * @max) c
   cross join lateral (
    select ctid as place from pawl.agenda
     where shard = @shard and ctid = c.place
       and ready and lease is null and takeovers = 0
       for update skip locked) a
   where not exists (select from pawl.suspension p
                      where not p.is_prefix and p.code = w.workflow)
     and not exists (select from pawl.suspension p
                      where p.is_prefix
                        and left(w.workflow, length(p.code)) = p.code)
   limit @max
), due as (select place from near union all select place from far limit @max)
update pawl.agenda a
   set ready = false, lease = @lease, executor = @executor,
       executor_before = a.executor, due_before = a.due_at,
       due_at = coalesce(@now, now()) + @lease_us * interval '1 microsecond'
  from due where a.shard = @shard and a.ctid = due.place
returning a.instance, a.takeovers, a.latch, a.due_before, a.executor_before,
          a.priority, coalesce(@now, now()) as now;

-- name: agenda_claim_suspect
-- args: @shard smallint, @executor_group text, @workflow text[],
--       @workflow_version integer[], @lease uuid, @executor uuid,
--       @lease_us bigint, @now time
-- rows: instance uuid, takeovers integer, latch integer, due_before time,
--       executor_before uuid, priority smallint, now time
-- One row whose last holder died, or that was taken over since its last
-- commit: it runs alone. Taking it from a dead holder counts, and shows in
-- executor_before, which is null after a plain claim.
with candidate as materialized (
  select a.place, a.priority, a.due_at
    from unnest(@workflow, @workflow_version) as w (workflow, version)
   cross join lateral (
     select ctid as place, priority, due_at from pawl.agenda
      where shard = @shard and executor_group = @executor_group
        and workflow = w.workflow and workflow_version = w.version
        and ready and (lease is not null or takeovers > 0)
      order by priority desc, due_at limit 16) a
   where not exists (select from pawl.suspension p
                      where not p.is_prefix and p.code = w.workflow)
     and not exists (select from pawl.suspension p
                      where p.is_prefix
                        and left(w.workflow, length(p.code)) = p.code)
   order by a.priority desc, a.due_at limit 16
), due as materialized (
  select a.place
    from candidate c
   cross join lateral (
    select ctid as place from pawl.agenda
     where shard = @shard and ctid = c.place
       and ready and (lease is not null or takeovers > 0)
       for update skip locked) a
   limit 1
)
update pawl.agenda a
   set ready = false, lease = @lease, executor = @executor,
       executor_before = a.executor, due_before = a.due_at,
       takeovers = a.takeovers + (a.lease is not null)::integer,
       due_at = coalesce(@now, now()) + @lease_us * interval '1 microsecond'
  from due where a.shard = @shard and a.ctid = due.place
returning a.instance, a.takeovers, a.latch, a.due_before, a.executor_before,
          a.priority, coalesce(@now, now()) as now;

-- name: agenda_claim_one
-- args: @shard smallint, @id uuid, @lease uuid, @executor uuid,
--       @lease_us bigint, @now time
-- rows: instance uuid, takeovers integer, latch integer, due_before time,
--       executor_before uuid, priority smallint, now time,
--       suspended boolean
-- This instance, if it is due and nobody holds it. Its workflow may be
-- suspended: then it is held for its inbox alone.
with due as materialized (
  select 1 from pawl.agenda
   where shard = @shard and instance = @id
     and (ready or due_at <= coalesce(@now, now())) for update
)
update pawl.agenda a
   set ready = false, lease = @lease, executor = @executor,
       executor_before = a.executor, due_before = a.due_at,
       takeovers = a.takeovers + (a.lease is not null)::integer,
       due_at = coalesce(@now, now()) + @lease_us * interval '1 microsecond'
  from due where a.shard = @shard and a.instance = @id
returning a.instance, a.takeovers, a.latch, a.due_before, a.executor_before,
          a.priority, coalesce(@now, now()) as now,
          exists (select from pawl.suspension p
                   where not p.is_prefix and p.code = a.workflow)
          or exists (select from pawl.suspension p
                      where p.is_prefix
                        and left(a.workflow, length(p.code)) = p.code)
          as suspended;

-- name: agenda_seize
-- args: @shard smallint, @id uuid, @lease uuid, @executor uuid,
--       @lease_us bigint, @now time
-- rows: instance uuid, takeovers integer, latch integer, due_before time,
--       executor_before uuid, priority smallint, now time,
--       suspended boolean
-- This instance, whoever holds it: for killing it. The old holder's commits
-- fail from here on.
with it as materialized (
  select 1 from pawl.agenda
   where shard = @shard and instance = @id for update
)
update pawl.agenda a
   set ready = false, lease = @lease, executor = @executor,
       executor_before = null, due_before = coalesce(@now, now()),
       due_at = coalesce(@now, now()) + @lease_us * interval '1 microsecond'
  from it where a.shard = @shard and a.instance = @id
returning a.instance, a.takeovers, a.latch, a.due_before, a.executor_before,
          a.priority, coalesce(@now, now()) as now, false as suspended;

-- name: agenda_get
-- args: @shard smallint, @id uuid, @now time
-- rows: ready boolean, due_at time, lease uuid, executor uuid,
--       takeovers integer, latch integer, host text, pid bigint, now time
select a.ready, a.due_at, a.lease, a.executor, a.takeovers, a.latch, e.host,
       e.pid, coalesce(@now, now()) as now
  from pawl.agenda a
  left join lateral (
   select host, pid from pawl.executor where id = a.executor offset 0) e
    on true
 where a.shard = @shard and a.instance = @id;

-- name: agenda_wake
-- args: @shard smallint, @id uuid, @now time
-- Something has come in from outside. On a leased row only the latch rises:
-- its holder looks again when it commits.
insert into pawl.agenda as a (shard, instance, workflow, workflow_version,
       executor_group, priority, ready, due_at, takeovers, latch)
select shard, id, workflow, workflow_version, executor_group, priority, true,
       coalesce(@now, now()), 0, 1
  from pawl.instance
 where shard = @shard and id = @id
   and status in ('running', 'waiting', 'suspended')
on conflict (shard, instance) do update
   set latch = a.latch + 1,
       ready = a.ready or a.lease is null,
       due_at = case when a.lease is null
                     then least(a.due_at, excluded.due_at)
                     else a.due_at end;

-- name: agenda_wake_many
-- args: @shard smallint, @id uuid[], @now time
-- The same for many, in the order of their ids.
insert into pawl.agenda as a (shard, instance, workflow, workflow_version,
       executor_group, priority, ready, due_at, takeovers, latch)
select i.shard, i.id, i.workflow, i.workflow_version, i.executor_group,
       i.priority, true, coalesce(@now, now()), 0, 1
  from (select id from unnest(@id) as u (id) order by id) s
 cross join lateral (
  select * from pawl.instance
   where shard = @shard and id = s.id
     and status in ('running', 'waiting', 'suspended') offset 0) i
on conflict (shard, instance) do update
   set latch = a.latch + 1,
       ready = a.ready or a.lease is null,
       due_at = case when a.lease is null
                     then least(a.due_at, excluded.due_at)
                     else a.due_at end;

-- name: agenda_revive
-- args: @shard smallint, @id uuid, @now time, @completed boolean
-- The same for an instance that may have failed, or @completed, and is asked
-- for something all the same.
insert into pawl.agenda as a (shard, instance, workflow, workflow_version,
       executor_group, priority, ready, due_at, takeovers, latch)
select shard, id, workflow, workflow_version, executor_group, priority, true,
       coalesce(@now, now()), 0, 1
  from pawl.instance
 where shard = @shard and id = @id and deleted_at is null
   and (status in ('running', 'waiting', 'suspended', 'failed')
        or status = 'completed' and @completed)
on conflict (shard, instance) do update
   set latch = a.latch + 1,
       ready = a.ready or a.lease is null,
       due_at = case when a.lease is null
                     then least(a.due_at, excluded.due_at)
                     else a.due_at end;

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

-- name: agenda_lock
-- args: @shard smallint, @id uuid[], @lease uuid[], @latch integer[]
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
  from (select * from unnest(@id, @lease, @latch) as u (id, lease, latch)
         order by id) s
 cross join lateral (
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
-- args: @shard smallint, @id uuid, @lease uuid, @workflow_version integer
-- Started when nobody knew its workflow: now somebody does.
update pawl.agenda set workflow_version = @workflow_version
 where shard = @shard and instance = @id and lease = @lease;

-- name: agenda_keep
-- args: @shard smallint, @id uuid[], @lease uuid[], @latch integer[],
--       @seen integer[]
-- rows: instance uuid, latch integer
-- Held on after a commit that counts: takeovers start again, and what the
-- latch announced has been taken.
update pawl.agenda a
   set takeovers = 0,
       latch = case when a.latch = s.seen then 0 else a.latch end
  from (select * from unnest(@id, @lease, @latch, @seen)
               as s (id, lease, latch, seen) limit cardinality(@id)) s
 cross join lateral (
  select ctid as place from pawl.agenda
   where shard = @shard and instance = s.id and lease = s.lease
     and (s.latch is null or latch = s.latch) offset 0) g
 where a.shard = @shard and a.ctid = g.place and a.lease = s.lease
returning a.instance, a.latch;

-- name: agenda_release
-- args: @shard smallint, @id uuid[], @lease uuid[], @latch integer[],
--       @seen integer[], @due_at time[], @now time
-- Let go after a commit. What woke meanwhile is due at once, or since before
-- that; a null @due_at touches only such rows, and agenda_end then deletes the
-- others.
update pawl.agenda a
   set lease = null, executor = null, takeovers = 0,
       latch = case when a.latch = s.seen then 0 else a.latch end,
       ready = a.latch <> s.seen or s.due_at <= coalesce(@now, now()),
       due_at = case when a.latch <> s.seen
                     then least(coalesce(@now, now()), s.due_at)
                     else s.due_at end
  from (select * from unnest(@id, @lease, @latch, @seen, @due_at)
               as s (id, lease, latch, seen, due_at) limit cardinality(@id)) s
 cross join lateral (
  select ctid as place from pawl.agenda
   where shard = @shard and instance = s.id and lease = s.lease
     and (s.latch is null or latch = s.latch)
     and (s.due_at is not null or latch <> s.seen) offset 0) g
 where a.shard = @shard and a.ctid = g.place and a.lease = s.lease;

-- name: agenda_end
-- args: @shard smallint, @id uuid[], @lease uuid[], @seen integer[]
delete from pawl.agenda a
 using (select * from unnest(@id, @lease, @seen)
               as s (id, lease, seen) limit cardinality(@id)) s
 cross join lateral (
  select ctid as place from pawl.agenda
   where shard = @shard and instance = s.id and lease = s.lease
     and latch = s.seen offset 0) g
 where a.shard = @shard and a.ctid = g.place and a.lease = s.lease
   and a.latch = s.seen;

-- name: agenda_stray
-- args: @shard smallint, @id uuid[], @lease uuid[]
-- rows: instance uuid
-- Rows, with this lease or none, that lead to no instance: they go.
delete from pawl.agenda a
 using (select * from unnest(@id, @lease) as s (id, lease)
         limit cardinality(@id)) s
 cross join lateral (
  select ctid as place from pawl.agenda
   where shard = @shard and instance = s.id
     and lease is not distinct from s.lease
     and not exists (select from pawl.instance i
                      where i.shard = @shard and i.id = s.id offset 0)
   offset 0) g
 where a.shard = @shard and a.ctid = g.place
   and a.lease is not distinct from s.lease
returning a.instance;

-- name: agenda_finish
-- args: @shard smallint, @id uuid[], @lease uuid[], @seen integer[]
-- rows: every integer
-- every: row
-- Instances that end, and nothing has come in for them. First of its unit: what
-- follows needs no other look at the lease. Nothing is locked before: what the
-- row must be like is asked again where it is deleted, for a server may come
-- here with a newer row than was found.
with gone as (
delete from pawl.agenda a
 using (select unnest(@id) as id, unnest(@lease) as lease,
               unnest(@seen) as seen
         limit cardinality(@id)) s
 cross join lateral (
  select ctid as place from pawl.agenda
   where shard = @shard and instance = s.id and lease = s.lease
     and latch = s.seen offset 0) g
 where a.shard = @shard and a.ctid = g.place and a.lease = s.lease
   and a.latch = s.seen
returning 1)
select 1 / (count(*) = cardinality(@id))::integer as every from gone;

-- name: agenda_unclaim
-- args: @shard smallint, @id uuid[], @lease uuid[], @executor uuid[],
--       @due_at time[]
-- A clean release of what was not begun. Its claim did not count, unless it
-- was taken from a dead holder: that stays counted, and until it is recorded
-- @executor keeps the name of the dead.
insert into pawl.agenda as a (shard, instance, workflow, workflow_version,
       executor_group, priority, ready, due_at, executor, takeovers, latch)
select m.shard, m.instance, m.workflow, m.workflow_version, m.executor_group,
       m.priority, true, s.due_at, s.executor, m.takeovers, m.latch
  from (select * from unnest(@id, @lease, @executor, @due_at)
               as u (id, lease, executor, due_at) order by id) s
 cross join lateral (
  select * from pawl.agenda
   where shard = @shard and instance = s.id and lease = s.lease
     for update) m
on conflict (shard, instance) do update
   set lease = null, executor = excluded.executor, ready = true,
       due_at = excluded.due_at;

-- name: agenda_unclaim_lease
-- args: @shard smallint, @lease uuid, @horizon_us bigint, @now time
-- After a claim whose answer was lost: gives back what it took, if it did.
insert into pawl.agenda as a (shard, instance, workflow, workflow_version,
       executor_group, priority, ready, due_at, takeovers, latch)
select m.shard, m.instance, m.workflow, m.workflow_version, m.executor_group,
       m.priority, true, m.due_before, m.takeovers, m.latch
  from (select instance from (
          select instance from pawl.agenda
           where shard = @shard and not ready and lease = @lease
             and due_at <= coalesce(@now, now())
                           + @horizon_us * interval '1 microsecond'
           order by due_at offset 0) f order by instance) s
 cross join lateral (
  select * from pawl.agenda
   where shard = @shard and instance = s.instance and lease = @lease
     for update) m
on conflict (shard, instance) do update
   set lease = null, executor = a.executor_before, ready = true,
       due_at = a.due_before;

-- name: agenda_renew
-- args: @shard smallint, @id uuid[], @lease uuid[], @lease_us bigint,
--       @now time
-- rows: instance uuid, latch integer, due_at time
-- A heartbeat: the lease goes on. It may already have been made ready; what
-- is ready may be claimed, so ready falls too. Rows that somebody has locked
-- wait for the next beat, or they would hold up all the others.
insert into pawl.agenda as a (shard, instance, workflow, workflow_version,
       executor_group, priority, ready, due_at, takeovers, latch)
select m.shard, m.instance, m.workflow, m.workflow_version, m.executor_group,
       m.priority, false,
       coalesce(@now, now()) + @lease_us * interval '1 microsecond',
       m.takeovers, m.latch
  from unnest(@id, @lease) as s (id, lease)
 cross join lateral (
  select * from pawl.agenda
   where shard = @shard and instance = s.id and lease = s.lease
     for update skip locked) m
on conflict (shard, instance) do update
   set ready = false, due_at = excluded.due_at
returning a.instance, a.latch, a.due_at;

-- name: agenda_latches
-- args: @shard smallint, @id uuid[], @lease uuid[]
-- rows: instance uuid, latch integer
-- Those that are still held so: while their handlers wait.
select a.instance, a.latch from unnest(@id, @lease) as s (id, lease)
 cross join lateral (
   select instance, latch from pawl.agenda
    where shard = @shard and instance = s.id and lease = s.lease offset 0) a;

-- name: agenda_relet
-- args: @shard smallint, @id uuid, @lease uuid, @new_lease uuid
-- rows: instance uuid
-- After a commit whose answer was lost: the claim goes on under a new id, so
-- that the old commit can never land.
update pawl.agenda set lease = @new_lease
 where shard = @shard and instance = @id and lease = @lease
returning instance;

-- name: agenda_orphan
-- args: @shard smallint, @executor uuid, @horizon_us bigint, @now time,
--       @max integer
-- Leases of an executor that is known to be gone are due at once. No lease is
-- longer than the horizon, so that later rows need not be read.
insert into pawl.agenda as a (shard, instance, workflow, workflow_version,
       executor_group, priority, ready, due_at, takeovers, latch)
select m.shard, m.instance, m.workflow, m.workflow_version, m.executor_group,
       m.priority, true, coalesce(@now, now()), m.takeovers, m.latch
  from (select * from pawl.agenda
         where shard = @shard and not ready and executor = @executor
           and lease is not null
           and due_at <= coalesce(@now, now())
                         + @horizon_us * interval '1 microsecond'
         order by due_at limit @max for update skip locked) m
on conflict (shard, instance) do update
   set ready = true, due_at = excluded.due_at;

-- name: wake
-- args: @channel text
-- rows: done text
-- Tells sleeping workers; sent after a commit, never inside one, because
-- NOTIFY makes commits queue up. What was told need not outlive a crash: its
-- own commit does not wait for the disk.
select pg_notify(@channel, '')::text as done
  from set_config('synchronous_commit', 'off', true);
