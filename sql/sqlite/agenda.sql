-- The agenda: what to look at, and when. Claims, leases, releases.
-- Differs throughout: one writer at a time (BEGIN IMMEDIATE) needs no row
-- locks, and @now is always given.

-- name: agenda_next
-- args: @shard smallint, @now time
-- rows: due_at time, now time
select (select due_at from pawl_agenda
         where shard = @shard and not ready order by due_at limit 1) as due_at,
       @now as now;

-- name: agenda_routes
-- args: @shard smallint, @executor_group text
-- rows: workflow text, workflow_version integer, suspect boolean
-- Differs: no lateral joins, and an index does not compare pairs: the jumps go
-- from workflow to workflow first, then from version to version of each.
with recursive
fresh_code (workflow) as (
  select (select min(workflow) from pawl_agenda
           where shard = @shard and executor_group = @executor_group
             and ready and lease is null and takeovers = 0)
  union all
  select (select min(a.workflow) from pawl_agenda a
           where shard = @shard and executor_group = @executor_group
             and ready and lease is null and takeovers = 0
             and a.workflow > c.workflow)
    from fresh_code c where c.workflow is not null),
fresh (workflow, version) as (
  select c.workflow, (select min(a.workflow_version) from pawl_agenda a
           where shard = @shard and executor_group = @executor_group
             and ready and lease is null and takeovers = 0
             and a.workflow = c.workflow)
    from fresh_code c where c.workflow is not null
  union all
  select f.workflow, (select min(a.workflow_version) from pawl_agenda a
           where shard = @shard and executor_group = @executor_group
             and ready and lease is null and takeovers = 0
             and a.workflow = f.workflow and a.workflow_version > f.version)
    from fresh f where f.version is not null),
suspect_code (workflow) as (
  select (select min(workflow) from pawl_agenda
           where shard = @shard and executor_group = @executor_group
             and ready and (lease is not null or takeovers > 0))
  union all
  select (select min(a.workflow) from pawl_agenda a
           where shard = @shard and executor_group = @executor_group
             and ready and (lease is not null or takeovers > 0)
             and a.workflow > c.workflow)
    from suspect_code c where c.workflow is not null),
suspect (workflow, version) as (
  select c.workflow, (select min(a.workflow_version) from pawl_agenda a
           where shard = @shard and executor_group = @executor_group
             and ready and (lease is not null or takeovers > 0)
             and a.workflow = c.workflow)
    from suspect_code c where c.workflow is not null
  union all
  select f.workflow, (select min(a.workflow_version) from pawl_agenda a
           where shard = @shard and executor_group = @executor_group
             and ready and (lease is not null or takeovers > 0)
             and a.workflow = f.workflow and a.workflow_version > f.version)
    from suspect f where f.version is not null)
select workflow, workflow_version, suspect
  from (select workflow, version as workflow_version, 0 as suspect
          from fresh where version is not null
        union all
        select workflow, version, 1 from suspect where version is not null) f
 where not exists (select 1 from pawl_suspension p
                    where p.is_prefix = 0 and p.code = f.workflow)
   and not exists (select 1 from pawl_suspension p
                    where p.is_prefix = 1
                      and substr(f.workflow, 1, length(p.code)) = p.code);

-- name: agenda_promote
-- args: @shard smallint, @now time, @max integer
update pawl_agenda set ready = 1
 where shard = @shard and instance in (
  select instance from pawl_agenda
   where shard = @shard and not ready and due_at <= @now
   order by due_at limit @max);

-- name: agenda_claim
-- args: @shard smallint, @executor_group text, @workflow text[],
--       @workflow_version integer[], @lease uuid, @executor uuid,
--       @lease_us bigint, @now time, @max integer
-- rows: instance uuid, takeovers integer, latch integer, due_before time,
--       executor_before uuid, priority smallint, now time
-- run: once
-- Differs: `cross` keeps the order of the joins, without which the planner
-- reads the whole agenda.
update pawl_agenda
   set ready = 0, lease = @lease, executor = @executor,
       executor_before = executor, due_before = due_at,
       due_at = @now + @lease_us
 where shard = @shard and instance in (
  select a.instance
    from json_each(@workflow) w
   cross join json_each(@workflow_version) v on v.key = w.key
   cross join pawl_agenda a on a.shard = @shard and a.instance in (
      select b.instance from pawl_agenda b
       where b.shard = @shard and b.executor_group = @executor_group
         and b.workflow = w.value and b.workflow_version = v.value
         and b.ready and b.lease is null and b.takeovers = 0
       order by b.priority desc, b.due_at limit @max)
   where not exists (select 1 from pawl_suspension p
                      where p.is_prefix = 0 and p.code = w.value)
     and not exists (select 1 from pawl_suspension p
                      where p.is_prefix = 1
                        and substr(w.value, 1, length(p.code)) = p.code)
   order by a.priority desc, a.due_at limit @max)
returning instance, takeovers, latch, due_before, executor_before, priority,
          @now as now;

-- name: agenda_claim_suspect
-- args: @shard smallint, @executor_group text, @workflow text[],
--       @workflow_version integer[], @lease uuid, @executor uuid,
--       @lease_us bigint, @now time
-- rows: instance uuid, takeovers integer, latch integer, due_before time,
--       executor_before uuid, priority smallint, now time
-- run: once
update pawl_agenda
   set ready = 0, lease = @lease, executor = @executor,
       executor_before = executor, due_before = due_at,
       takeovers = takeovers + (lease is not null),
       due_at = @now + @lease_us
 where shard = @shard and instance in (
  select a.instance
    from json_each(@workflow) w
   cross join json_each(@workflow_version) v on v.key = w.key
   cross join pawl_agenda a on a.shard = @shard and a.instance in (
      select b.instance from pawl_agenda b
       where b.shard = @shard and b.executor_group = @executor_group
         and b.workflow = w.value and b.workflow_version = v.value
         and b.ready and (b.lease is not null or b.takeovers > 0)
       order by b.priority desc, b.due_at limit 1)
   where not exists (select 1 from pawl_suspension p
                      where p.is_prefix = 0 and p.code = w.value)
     and not exists (select 1 from pawl_suspension p
                      where p.is_prefix = 1
                        and substr(w.value, 1, length(p.code)) = p.code)
   order by a.priority desc, a.due_at limit 1)
returning instance, takeovers, latch, due_before, executor_before, priority,
          @now as now;

-- name: agenda_claim_one
-- args: @shard smallint, @id uuid, @lease uuid, @executor uuid,
--       @lease_us bigint, @now time
-- rows: instance uuid, takeovers integer, latch integer, due_before time,
--       executor_before uuid, priority smallint, now time,
--       suspended boolean
update pawl_agenda
   set ready = 0, lease = @lease, executor = @executor,
       executor_before = executor, due_before = due_at,
       takeovers = takeovers + (lease is not null),
       due_at = @now + @lease_us
 where shard = @shard and instance = @id and (ready or due_at <= @now)
returning instance, takeovers, latch, due_before, executor_before, priority,
          @now as now,
          exists (select 1 from pawl_suspension p
                   where p.is_prefix = 0 and p.code = workflow)
          or exists (select 1 from pawl_suspension p
                      where p.is_prefix = 1
                        and substr(workflow, 1, length(p.code)) = p.code)
          as suspended;

-- name: agenda_seize
-- args: @shard smallint, @id uuid, @lease uuid, @executor uuid,
--       @lease_us bigint, @now time
-- rows: instance uuid, takeovers integer, latch integer, due_before time,
--       executor_before uuid, priority smallint, now time,
--       suspended boolean
update pawl_agenda
   set ready = 0, lease = @lease, executor = @executor,
       executor_before = null, due_before = @now, due_at = @now + @lease_us
 where shard = @shard and instance = @id
returning instance, takeovers, latch, due_before, executor_before, priority,
          @now as now, 0 as suspended;

-- name: agenda_get
-- args: @shard smallint, @id uuid, @now time
-- rows: ready boolean, due_at time, lease uuid, executor uuid,
--       takeovers integer, latch integer, host text, pid bigint, now time
select a.ready, a.due_at, a.lease, a.executor, a.takeovers, a.latch, e.host,
       e.pid, @now as now
  from pawl_agenda a left join pawl_executor e on e.id = a.executor
 where a.shard = @shard and a.instance = @id;

-- name: agenda_wake
-- args: @shard smallint, @id uuid, @now time
insert into pawl_agenda (shard, instance, workflow, workflow_version,
       executor_group, priority, ready, due_at, takeovers, latch)
select shard, id, workflow, workflow_version, executor_group, priority, 1,
       @now, 0, 1
  from pawl_instance
 where shard = @shard and id = @id
   and status in ('running', 'waiting', 'suspended')
on conflict (shard, instance) do update
   set latch = latch + 1,
       ready = ready or lease is null,
       due_at = case when lease is null then min(due_at, excluded.due_at)
                     else due_at end;

-- name: agenda_wake_many
-- args: @shard smallint, @id uuid[], @now time
insert into pawl_agenda (shard, instance, workflow, workflow_version,
       executor_group, priority, ready, due_at, takeovers, latch)
select shard, id, workflow, workflow_version, executor_group, priority, 1,
       @now, 0, 1
  from pawl_instance
 where shard = @shard and id = @id
   and status in ('running', 'waiting', 'suspended')
on conflict (shard, instance) do update
   set latch = latch + 1,
       ready = ready or lease is null,
       due_at = case when lease is null then min(due_at, excluded.due_at)
                     else due_at end;

-- name: agenda_revive
-- args: @shard smallint, @id uuid, @now time, @completed boolean
insert into pawl_agenda (shard, instance, workflow, workflow_version,
       executor_group, priority, ready, due_at, takeovers, latch)
select shard, id, workflow, workflow_version, executor_group, priority, 1,
       @now, 0, 1
  from pawl_instance
 where shard = @shard and id = @id and deleted_at is null
   and (status in ('running', 'waiting', 'suspended', 'failed')
        or status = 'completed' and @completed)
on conflict (shard, instance) do update
   set latch = latch + 1,
       ready = ready or lease is null,
       due_at = case when lease is null then min(due_at, excluded.due_at)
                     else due_at end;

-- name: agenda_of
-- args: @shard smallint, @code text, @is_prefix boolean, @after uuid,
--       @max integer
-- rows: instance uuid
select instance from pawl_agenda
 where shard = @shard and instance > @after
   and case when @is_prefix then substr(workflow, 1, length(@code)) = @code
            else workflow = @code end
 order by instance limit @max;

-- name: agenda_lock
-- args: @shard smallint, @id uuid[], @lease uuid[], @latch integer[]
-- rows: instance uuid, latch integer
select instance, latch from pawl_agenda
 where shard = @shard and instance = @id and lease = @lease
   and (@latch is null or latch = @latch);

-- name: agenda_lock_one
-- args: @shard smallint, @id uuid
-- rows: lease uuid
select lease from pawl_agenda where shard = @shard and instance = @id;

-- name: agenda_pin
-- args: @shard smallint, @id uuid, @lease uuid, @workflow_version integer
update pawl_agenda set workflow_version = @workflow_version
 where shard = @shard and instance = @id and lease = @lease;

-- name: agenda_keep
-- args: @shard smallint, @id uuid[], @lease uuid[], @latch integer[],
--       @seen integer[]
-- rows: instance uuid, latch integer
update pawl_agenda
   set takeovers = 0, latch = case when latch = @seen then 0 else latch end
 where shard = @shard and instance = @id and lease = @lease
   and (@latch is null or latch = @latch)
returning instance, latch;

-- name: agenda_release
-- args: @shard smallint, @id uuid[], @lease uuid[], @latch integer[],
--       @seen integer[], @due_at time[], @now time
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
-- args: @shard smallint, @id uuid[], @lease uuid[], @seen integer[]
delete from pawl_agenda
 where shard = @shard and instance = @id and lease = @lease and latch = @seen;

-- name: agenda_stray
-- args: @shard smallint, @id uuid[], @lease uuid[]
-- rows: instance uuid
delete from pawl_agenda
 where shard = @shard and instance = @id and lease is @lease
   and not exists (select 1 from pawl_instance
                    where shard = @shard and id = @id)
returning instance;

-- name: agenda_finish
-- args: @shard smallint, @id uuid[], @lease uuid[], @seen integer[]
-- rows: every integer
-- every: row
delete from pawl_agenda
 where shard = @shard and instance = @id and lease = @lease and latch = @seen
returning 1 as every;

-- name: agenda_unclaim
-- args: @shard smallint, @id uuid[], @lease uuid[], @executor uuid[],
--       @due_at time[]
update pawl_agenda
   set lease = null, executor = @executor, ready = 1, due_at = @due_at
 where shard = @shard and instance = @id and lease = @lease;

-- name: agenda_unclaim_lease
-- args: @shard smallint, @lease uuid, @horizon_us bigint, @now time
update pawl_agenda
   set lease = null, executor = executor_before, ready = 1,
       due_at = due_before
 where shard = @shard and instance in (
  select instance from pawl_agenda
   where shard = @shard and not ready and lease = @lease
     and due_at <= @now + @horizon_us);

-- name: agenda_renew
-- args: @shard smallint, @id uuid[], @lease uuid[], @lease_us bigint,
--       @now time
-- rows: instance uuid, latch integer, due_at time
update pawl_agenda set ready = 0, due_at = @now + @lease_us
 where shard = @shard and instance = @id and lease = @lease
returning instance, latch, due_at;

-- name: agenda_latches
-- args: @shard smallint, @id uuid[], @lease uuid[]
-- rows: instance uuid, latch integer
-- Those that are still held so: while their handlers wait.
select instance, latch from pawl_agenda
 where shard = @shard and instance = @id and lease = @lease;

-- name: agenda_relet
-- args: @shard smallint, @id uuid, @lease uuid, @new_lease uuid
-- rows: instance uuid
update pawl_agenda set lease = @new_lease
 where shard = @shard and instance = @id and lease = @lease
returning instance;

-- name: agenda_orphan
-- args: @shard smallint, @executor uuid, @horizon_us bigint, @now time,
--       @max integer
update pawl_agenda set ready = 1, due_at = @now
 where shard = @shard and instance in (
  select instance from pawl_agenda
   where shard = @shard and not ready and executor = @executor
     and lease is not null and due_at <= @now + @horizon_us
   order by due_at limit @max);

-- name: wake
-- args: @channel text
-- rows: done text
-- Differs: other processes see the file's data version change.
select @channel as done;
