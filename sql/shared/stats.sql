-- How a store stands: from narrow tables and their indexes. What could be very
-- many is counted up to @max.

-- name: stats_shard
-- args: @shard smallint[], @soon_us bigint, @now time?, @max integer
-- rows: looked bigint, late bigint, soon bigint, late_since time,
--       orphaned bigint, takeovers bigint, emitted bigint, unpublished bigint,
--       unpublished_since time, delayed_since time, dead bigint, open bigint,
--       overdue bigint
-- Of what is not ready yet: rows looked at, those that are due and not made
-- ready, those that are due soon. Of what is ready: taken from those who died.
-- Of what was emitted: rows looked at, those that wait to be published, and
-- when the first of these was emitted; of what is not due when it was emitted
-- (it is tried again, or stands behind another) that is asked by itself, as it
-- may be behind all that was looked at. Then those that are dead; tasks that
-- are open, and those that are overdue.
select t.* {{from_each}} (
  select d.looked, d.late, d.soon, d.late_since, o.orphaned, o.takeovers,
         u.emitted, u.unpublished, u.unpublished_since, u.delayed_since,
         g.dead, k.open, k.overdue
    from (
    select count(*) as looked,
           count(case when lease is null and due_at <= {{now}} then 1 end)
             as late,
           count(case when lease is null and due_at > {{now}} then 1 end)
             as soon,
           min(case when due_at <= {{now}} then due_at end) as late_since
      from (select due_at, lease
              from pawl.agenda
                   indexed by pawl_agenda_due -- only: sqlite
             where shard = s.shard and not ready
               and due_at <= {{from_now @soon_us}}
             order by due_at limit @max) f) d
   cross join (
    select count(*) as orphaned, coalesce(sum(takeovers), 0) as takeovers
      from (select takeovers
              from pawl.agenda
                   indexed by pawl_agenda_suspect -- only: sqlite
             where shard = s.shard and ready
               and (lease is not null or takeovers > 0) limit @max) f) o
   cross join (
    select count(*) as emitted,
           count(case when dead_at is null then 1 end) as unpublished,
           min(case when dead_at is null then created_at end)
             as unpublished_since,
           (select created_at
              from pawl.outbox
                   indexed by pawl_outbox_delayed -- only: sqlite
             where shard = s.shard and due_at > created_at and lease is null
               and dead_at is null and published_at is null
             order by created_at limit 1) as delayed_since
      from (select created_at, dead_at
              from pawl.outbox
                   indexed by pawl_outbox_unpublished -- only: sqlite
             where shard = s.shard and published_at is null
             order by due_at limit @max) f) u
   cross join (
    select count(*) as dead
      from (select 1
              from pawl.outbox
                   indexed by pawl_outbox_dead -- only: sqlite
             where shard = s.shard and dead_at is not null
               and published_at is null
             order by dead_at limit @max) f) g
   cross join (
    select (select count(*) from (
              select 1 from pawl.task
               where shard = s.shard and status = 'pending' limit @max) f)
         + (select count(*) from (
              select 1 from pawl.task
               where shard = s.shard and status = 'running' limit @max) f)
           as open,
           (select count(*) from (
              select 1 from pawl.task
               where shard = s.shard and status = 'pending'
                 and due_at < {{now}} limit @max) f)
         + (select count(*) from (
              select 1 from pawl.task
               where shard = s.shard and status = 'running'
                 and due_at < {{now}} limit @max) f)
           as overdue) k) t;

-- name: stats_held
-- args: @shard smallint[], @horizon_us bigint, @now time?, @max integer
-- rows: instance uuid, workflow text, version integer, node text,
--       attempt integer, lease uuid, executor uuid, takeovers integer,
--       until time
-- What is held: no lease is longer than the horizon.
select h.* {{from_each}} (
  select a.instance, a.workflow, a.version, i.node, i.attempt, a.lease,
         a.executor, a.takeovers, a.due_at as until
    from (select *
            from pawl.agenda
                 indexed by pawl_agenda_due -- only: sqlite
           where shard = s.shard and not ready and lease is not null
             and due_at > {{now}} and due_at <= {{from_now @horizon_us}}
           order by due_at limit @max) a
-- only: postgres
   cross join lateral (
    select node, attempt from pawl.instance
     where shard = s.shard and id = a.instance offset 0) i) h;
-- only: sqlite
   cross join pawl.instance i on i.shard = s.shard and i.id = a.instance) h;
