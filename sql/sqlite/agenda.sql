-- Differs throughout: one writer at a time (BEGIN IMMEDIATE) needs no row
-- locks, and @now is always given.

-- name: agenda_offers
-- Differs: no lateral joins, and an index does not compare pairs: the jumps go
-- from workflow to workflow first, then from version to version of each.
with recursive {{offers fresh}}, {{offers suspect}}
select workflow, version, suspect
  from (select workflow, version, 0 as suspect
          from fresh where version is not null
        union all
        select workflow, version, 1 from suspect where version is not null) f
 where {{unless_suspended f.workflow}};

-- name: agenda_promote
update pawl_agenda set ready = 1
 where shard = @shard and instance in (
  select instance from pawl_agenda
   where shard = @shard and not ready and due_at <= @now
   order by due_at limit @max);

-- name: agenda_claim
-- run: once
-- Differs: `cross` keeps the order of the joins, without which the planner
-- reads the whole agenda.
update pawl_agenda
   set {{leased_anew}},
       due_at = @now + @lease_us
 {{claim_from b.lease is null and b.takeovers = 0; @max}}
{{claimed}};

-- name: agenda_claim_due
-- run: once
-- Differs: as agenda_claim, led by the agenda.
update pawl_agenda
   set {{leased_anew}},
       due_at = @now + @lease_us
 where shard = @shard and instance in (
  select a.instance
    from (select instance, workflow, version from pawl_agenda
           where shard = @shard and not ready and due_at <= @now
             and (select count(*)
                    from (select 1 from pawl_agenda
                           where shard = @shard and not ready
                             and due_at <= @now limit @max + 1)) <= @max
             and executor_group = @executor_group
             and lease is null and takeovers = 0) a
   cross join json_each(@workflow) w
   cross join json_each(@version) v on v.key = w.key
   where a.workflow = w.value and a.version = v.value
     and {{unless_suspended w.value}})
{{claimed}};

-- name: agenda_claim_suspect
-- run: once
update pawl_agenda
   set {{leased_anew}},
       takeovers = takeovers + (lease is not null),
       due_at = @now + @lease_us
 {{claim_from (b.lease is not null or b.takeovers > 0); 1}}
{{claimed}};

-- name: agenda_claim_one
update pawl_agenda
   set {{leased_anew}},
       takeovers = takeovers + (lease is not null),
       due_at = @now + @lease_us
 where shard = @shard and instance = @id and (ready or due_at <= @now)
{{claimed}},
          {{suspended workflow}} as suspended;

-- name: agenda_claim_these
update pawl_agenda
   set {{leased_anew}}, due_at = @now + @lease_us
 where shard = @shard and instance = @id and lease is null and takeovers = 0
   and (ready or due_at <= @now)
{{claimed}},
          {{suspended workflow}} as suspended;

-- name: agenda_seize
update pawl_agenda
   set ready = 0, lease = @lease, executor = @executor,
       was_executor = null, was_due_at = @now, due_at = @now + @lease_us
 where shard = @shard and instance = @id
{{claimed}}, 0 as suspended;

-- name: agenda_wake_many
{{wake_row}}
 where shard = @shard and id = @id
   and status in ('running', 'waiting', 'suspended')
{{raise_latch}};

-- name: agenda_keep
update pawl_agenda
   set takeovers = 0, latch = case when latch = @seen then 0 else latch end
 where shard = @shard and instance = @id and lease = @lease
   and (@latch is null or latch = @latch)
returning instance, latch;

-- name: agenda_release
update pawl_agenda
   set lease = null, executor = null, takeovers = 0,
       latch = case when latch = @seen then 0 else latch end,
       ready = latch <> @seen or @due_at <= @now,
       due_at = case when latch <> @seen then min(@now, coalesce(@due_at, @now))
                     else @due_at end
 where shard = @shard and instance = @id and lease = @lease
   and (@latch is null or latch = @latch)
   and (@due_at is not null or latch <> @seen);

-- name: agenda_end
delete from pawl_agenda
 where shard = @shard and instance = @id and lease = @lease and latch = @seen;

-- name: agenda_stray
delete from pawl_agenda
 where shard = @shard and instance = @id and lease is @lease
   and not exists (select 1 from pawl_instance
                    where shard = @shard and id = @id)
returning instance;

-- name: agenda_finish
-- every: row
delete from pawl_agenda
 where shard = @shard and instance = @id and lease = @lease and latch = @seen;

-- name: agenda_unclaim
update pawl_agenda
   set lease = null, executor = @executor, ready = 1, due_at = @due_at
 where shard = @shard and instance = @id and lease = @lease;

-- name: agenda_unclaim_lease
update pawl_agenda
   set lease = null, executor = was_executor, ready = 1,
       due_at = was_due_at
 where shard = @shard and instance in (
  select instance from pawl_agenda
   where shard = @shard and not ready and lease = @lease
     and due_at <= @now + @horizon_us);

-- name: agenda_unclaim_all
update pawl_agenda
   set lease = null, executor = was_executor, ready = 1,
       due_at = coalesce(was_due_at, due_at)
 where shard = @shard and instance in (
  select instance from pawl_agenda
   where shard = @shard and not ready and executor = @executor
     and lease is not null
     and due_at <= @now + @horizon_us);

-- name: agenda_heartbeat
update pawl_agenda set ready = 0, due_at = @now + @lease_us
 where shard = @shard and instance = @id and lease = @lease
returning instance, latch, due_at;

-- name: agenda_orphan
update pawl_agenda set ready = 1, due_at = @now
 where shard = @shard and instance in (
  select instance from pawl_agenda
   where shard = @shard and not ready and executor = @executor
     and lease is not null and due_at <= @now + @horizon_us
   order by due_at limit @max);

-- name: wake
-- Differs: other processes see the file's data version change.
select '' as done;
