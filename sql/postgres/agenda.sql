-- name: agenda_offers
-- args: @shard smallint, @executor_group text
-- rows: workflow text, version integer, suspect boolean
-- Which workflow versions have ready rows: jumps from one to the next in the
-- index, so the cost is in the number of versions, not of rows. Suspended
-- workflows are left out; so they are of claims, which may come later.
with recursive {{offers fresh}}, {{offers suspect}}
select workflow, version, suspect
  from (select workflow, version, false as suspect from fresh
        union all
        select workflow, version, true from suspect) f
 where {{unless_suspended f.workflow}};

-- name: agenda_promote
-- args: @shard smallint, @now time?, @max integer
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
--       @version integer[], @lease uuid, @executor uuid,
--       @lease_us bigint, @now time?, @max integer
-- rows: instance uuid, takeovers integer, latch integer, was_due_at time,
--       was_executor uuid, priority smallint, now time
-- Candidates are read without locks, twice as many as wanted, so that rivals
-- find other rows further down; then locked. Who finds all of them locked, by
-- several rivals at once, looks further. Materialized, because a bare IN (...)
-- may be run twice and lock past @max.
-- Rows are found again where they stand (ctid), which costs no index: one that
-- has moved meanwhile was touched by somebody, and is passed by.
with candidate as materialized (
  {{candidates lease is null and takeovers = 0; 2 * @max}}
), near as materialized (
  select a.place from candidate c
   cross join lateral {{locked lease is null and takeovers = 0}} a
   limit @max
), far as materialized (
  select a.place
    from (select unnest(@workflow) as workflow,
                 unnest(@version) as version
           where not exists (select from near)
             and (select count(*) from candidate) >= 2 * @max) w
   cross join lateral (
     select ctid as place from pawl.agenda
      where shard = @shard and executor_group = @executor_group
        and workflow = w.workflow and version = w.version
        and ready and lease is null and takeovers = 0
      order by priority desc, due_at limit 32 * @max) c
   cross join lateral {{locked lease is null and takeovers = 0}} a
   where {{unless_suspended w.workflow}}
   limit @max
), due as (select place from near union all select place from far limit @max)
update pawl.agenda a
   set {{leased_anew}},
       due_at = {{from_now @lease_us}}
  from due where a.shard = @shard and a.ctid = due.place
{{claimed}};

-- name: agenda_claim_due
-- args: like agenda_claim
-- rows: like agenda_claim
-- Of an agenda on which nothing was ready: those whose time has come, where
-- they are no more than @max, so that none of them would have come before
-- others. They need not be made ready first.
with due as materialized (
  select ctid as place, workflow, version, executor_group, lease, takeovers
    from pawl.agenda
   where shard = @shard and not ready and due_at <= coalesce(@now, now())
   order by due_at limit @max + 1
), ours as materialized (
  select a.place from unnest(@workflow, @version) as w (workflow, version)
   cross join lateral (
     select place from due
      where workflow = w.workflow and version = w.version
        and executor_group = @executor_group
        and lease is null and takeovers = 0
        and (select count(*) from due) <= @max offset 0) c
   cross join lateral (
     select ctid as place from pawl.agenda
      where shard = @shard and ctid = c.place and not ready
        and due_at <= coalesce(@now, now())
        and lease is null and takeovers = 0 for update skip locked) a
   where {{unless_suspended w.workflow}}
   limit @max
)
update pawl.agenda a
   set {{leased_anew}},
       due_at = {{from_now @lease_us}}
  from ours where a.shard = @shard and a.ctid = ours.place
{{claimed}};

-- name: agenda_claim_suspect
-- args: @shard smallint, @executor_group text, @workflow text[],
--       @version integer[], @lease uuid, @executor uuid,
--       @lease_us bigint, @now time?
-- rows: like agenda_claim
-- One row whose last holder died, or that was taken over since its last
-- commit: it runs alone. Taking it from a dead holder counts, and shows in
-- was_executor, which is null after a plain claim.
with candidate as materialized (
  {{candidates (lease is not null or takeovers > 0); 16}}
), due as materialized (
  select a.place from candidate c
   cross join lateral {{locked (lease is not null or takeovers > 0)}} a
   limit 1
)
update pawl.agenda a
   set {{leased_anew}},
       takeovers = a.takeovers + (a.lease is not null)::integer,
       due_at = {{from_now @lease_us}}
  from due where a.shard = @shard and a.ctid = due.place
{{claimed}};

-- name: agenda_claim_one
-- args: @shard smallint, @id uuid, @lease uuid, @executor uuid,
--       @lease_us bigint, @now time?
-- rows: instance uuid, takeovers integer, latch integer, was_due_at time,
--       was_executor uuid, priority smallint, now time,
--       suspended boolean
-- This instance, if it is due and nobody holds it. Its workflow may be
-- suspended: then it is held for its inbox alone.
with due as materialized (
  select 1 from pawl.agenda
   where shard = @shard and instance = @id
     and (ready or due_at <= coalesce(@now, now())) for update
)
update pawl.agenda a
   set {{leased_anew}},
       takeovers = a.takeovers + (a.lease is not null)::integer,
       due_at = {{from_now @lease_us}}
  from due where a.shard = @shard and a.instance = @id
{{claimed}},
          {{suspended a.workflow}} as suspended;

-- name: agenda_claim_these
-- args: @shard smallint, @id uuid[], @lease uuid, @executor uuid,
--       @lease_us bigint, @now time?
-- rows: like agenda_claim_one
-- Those of them that are due and were left by nobody, locked in the order of
-- their ids, to be held for their inboxes alone.
with due as materialized (
  select g.place
    from (select id from unnest(@id) as u (id) order by id
           limit cardinality(@id)) s
   cross join lateral (
    select ctid as place from pawl.agenda
     where shard = @shard and instance = s.id and lease is null
       and takeovers = 0 and (ready or due_at <= coalesce(@now, now()))
       for update) g
)
update pawl.agenda a
   set {{leased_anew}}, due_at = {{from_now @lease_us}}
  from due where a.shard = @shard and a.ctid = due.place
{{claimed}},
          {{suspended a.workflow}} as suspended;

-- name: agenda_seize
-- args: like agenda_claim_one
-- rows: like agenda_claim_one
-- This instance, whoever holds it: for killing it. The old holder's commits
-- fail from here on.
with it as materialized (
  select 1 from pawl.agenda
   where shard = @shard and instance = @id for update
)
update pawl.agenda a
   set ready = false, lease = @lease, executor = @executor,
       was_executor = null, was_due_at = coalesce(@now, now()),
       due_at = {{from_now @lease_us}}
  from it where a.shard = @shard and a.instance = @id
{{claimed}}, false as suspended;

-- name: agenda_wake_many
-- args: @shard smallint, @id uuid[], @now time?
-- The same for many, in the order of their ids.
insert into pawl.agenda as a ({{agenda_columns}})
select i.shard, i.id, i.workflow, i.version, i.executor_group,
       i.priority, true, coalesce(@now, now()), 0, 1
  from (select id from unnest(@id) as u (id) order by id) s
 cross join lateral (
  select * from pawl.instance
   where shard = @shard and id = s.id
     and status in ('running', 'waiting', 'suspended') offset 0) i
{{raise_latch}};

-- name: agenda_keep
-- args: @shard smallint, @id uuid[], @lease uuid[], @latch integer??[],
--       @seen integer[]
-- rows: instance uuid, latch integer
-- Held on after a commit that counts: takeovers start again, and what the
-- latch announced has been taken.
update pawl.agenda a
   set takeovers = 0,
       latch = case when a.latch = s.seen then 0 else a.latch end
  from {{flat_rows}}
 where {{in_shard_of a; s}} and a.instance = s.id and a.lease = s.lease
   and (s.latch is null or a.latch = s.latch)
returning a.instance, a.latch;

-- name: agenda_release
-- args: @shard smallint, @id uuid[], @lease uuid[], @latch integer??[],
--       @seen integer[], @due_at time??[], @now time?
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
  from {{flat_rows}}
 where {{in_shard_of a; s}} and a.instance = s.id and a.lease = s.lease
   and (s.latch is null or a.latch = s.latch)
   and (s.due_at is not null or a.latch <> s.seen);

-- name: agenda_end
-- args: @shard smallint, @id uuid[], @lease uuid[], @seen integer[]
delete from pawl.agenda a
 using {{flat_rows}}
 where {{in_shard_of a; s}} and a.instance = s.id and a.lease = s.lease
   and a.latch = s.seen;

-- name: agenda_stray
-- args: @shard smallint, @id uuid[], @lease uuid[]
-- rows: instance uuid
-- Rows, with this lease or none, that lead to no instance: they go.
delete from pawl.agenda a
 using {{short_rows}}
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
-- follows needs no other look at the lease.
with gone as (
delete from pawl.agenda a
 using {{flat_rows}}
 where {{in_shard_of a; s}} and a.instance = s.id and a.lease = s.lease
   and a.latch = s.seen
returning 1)
select 1 / (count(*) = cardinality(@id))::integer as every from gone;

-- name: agenda_unclaim
-- args: @shard smallint, @id uuid[], @lease uuid[], @executor uuid[],
--       @due_at time[]
-- A clean release of what was not begun. Its claim did not count, unless it
-- was taken from a dead holder: that stays counted, and until it is recorded
-- @executor keeps the name of the dead.
insert into pawl.agenda as a (shard, instance, workflow, version,
       executor_group, priority, ready, due_at, executor, takeovers, latch)
select m.shard, m.instance, m.workflow, m.version, m.executor_group,
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
-- args: @shard smallint, @lease uuid, @horizon_us bigint, @now time?
-- After a claim whose answer was lost: gives back what it took, if it did.
insert into pawl.agenda as a ({{agenda_columns}})
select m.shard, m.instance, m.workflow, m.version, m.executor_group,
       m.priority, true, m.was_due_at, m.takeovers, m.latch
  from (select instance from (
          select instance from pawl.agenda
           where shard = @shard and not ready and lease = @lease
             and due_at <= {{from_now @horizon_us}}
           order by due_at offset 0) f order by instance) s
 cross join lateral (
  select * from pawl.agenda
   where shard = @shard and instance = s.instance and lease = @lease
     for update) m
on conflict (shard, instance) do update
   set lease = null, executor = a.was_executor, ready = true,
       due_at = a.was_due_at;

-- name: agenda_unclaim_all
-- args: @shard smallint, @executor uuid, @horizon_us bigint, @now time?
-- After a group that was undone: gives back whatever is leased to an executor,
-- who holds nothing.
insert into pawl.agenda as a ({{agenda_columns}})
select m.shard, m.instance, m.workflow, m.version, m.executor_group,
       m.priority, true, coalesce(m.was_due_at, m.due_at), m.takeovers, m.latch
  from (select instance from (
          select instance from pawl.agenda
           where shard = @shard and not ready and executor = @executor
             and lease is not null
             and due_at <= {{from_now @horizon_us}}
           order by due_at offset 0) f order by instance) s
 cross join lateral (
  select * from pawl.agenda
   where shard = @shard and instance = s.instance and executor = @executor
     and lease is not null
     for update) m
on conflict (shard, instance) do update
   set lease = null, executor = a.was_executor, ready = true,
       due_at = coalesce(a.was_due_at, a.due_at);

-- name: agenda_heartbeat
-- args: @shard smallint, @id uuid[], @lease uuid[], @lease_us bigint,
--       @now time?
-- rows: instance uuid, latch integer, due_at time
-- A heartbeat: the lease goes on. It may already have been made ready; what
-- is ready may be claimed, so ready falls too. Rows that somebody has locked
-- wait for the next beat, or they would hold up all the others.
insert into pawl.agenda as a ({{agenda_columns}})
select m.shard, m.instance, m.workflow, m.version, m.executor_group,
       m.priority, false, {{from_now @lease_us}}, m.takeovers, m.latch
  from {{rows}}
 cross join lateral (
  select * from pawl.agenda
   where shard = @shard and instance = s.id and lease = s.lease
     for update skip locked) m
on conflict (shard, instance) do update
   set ready = false, due_at = excluded.due_at
returning a.instance, a.latch, a.due_at;

-- name: agenda_orphan
-- args: @shard smallint, @executor uuid, @horizon_us bigint, @now time?,
--       @max integer
-- Leases of an executor that is known to be gone are due at once. No lease is
-- longer than the horizon, so that later rows need not be read.
insert into pawl.agenda as a ({{agenda_columns}})
select m.shard, m.instance, m.workflow, m.version, m.executor_group,
       m.priority, true, coalesce(@now, now()), m.takeovers, m.latch
  from (select * from pawl.agenda
         where shard = @shard and not ready and executor = @executor
           and lease is not null
           and due_at <= {{from_now @horizon_us}}
         order by due_at limit @max for update skip locked) m
on conflict (shard, instance) do update
   set ready = true, due_at = excluded.due_at;

-- name: wake
-- rows: done text
-- Tells sleeping workers; sent after a commit, never inside one, because
-- NOTIFY makes commits queue up. What was told need not outlive a crash: its
-- own commit does not wait for the disk.
select pg_notify('pawl_wake', '')::text as done
  from set_config('synchronous_commit', 'off', true);
