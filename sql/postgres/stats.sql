-- name: stats_ready
-- args: @shard smallint[], @max integer
-- rows: executor_group text, workflow text, version integer, ready bigint,
--       since time
-- What workers may claim, of each group and version: counted up to @max, and
-- since when the first of them is due, whatever its priority. Jumps from one to
-- the next in the index.
select t.* from {{rows}} cross join lateral (
  with recursive k as (
    (select executor_group, workflow, version from pawl.agenda
      where shard = s.shard and ready and lease is null and takeovers = 0
      order by executor_group, workflow, version limit 1)
    union all
    select n.* from k cross join lateral (
      select executor_group, workflow, version from pawl.agenda a
       where shard = s.shard and ready and lease is null and takeovers = 0
         and (a.executor_group, a.workflow, a.version)
             > (k.executor_group, k.workflow, k.version)
       order by executor_group, workflow, version limit 1) n)
  select k.executor_group, k.workflow, k.version, c.ready, o.since
    from k
   cross join lateral (
    select count(*) as ready from (
      select 1 from pawl.agenda a
       where shard = s.shard and executor_group = k.executor_group
         and workflow = k.workflow and version = k.version
         and ready and lease is null and takeovers = 0 limit @max) f) c
   cross join lateral (
    with recursive p as (
      (select priority, due_at from pawl.agenda a
        where shard = s.shard and executor_group = k.executor_group
          and workflow = k.workflow and version = k.version
          and ready and lease is null and takeovers = 0
        order by priority desc, due_at limit 1)
      union all
      select n.* from p cross join lateral (
        select priority, due_at from pawl.agenda a
         where shard = s.shard and executor_group = k.executor_group
           and workflow = k.workflow and version = k.version
           and ready and lease is null and takeovers = 0
           and a.priority < p.priority
         order by priority desc, due_at limit 1) n)
    select min(due_at) as since from p) o) t;

-- name: problem_list
-- args: @shard smallint[], @workflow text, @max integer, @most integer
-- rows: workflow text, code text, node text, count bigint,
--       first_at time, last_at time, example uuid, error json
-- Failures by workflow, code and node, @max groups of each shard; each counted
-- up to @most. Jumps from one to the next in their index.
select p.* from {{rows}} cross join lateral (
  with recursive k as (
    (select workflow, code, node from pawl.failure
      where shard = s.shard and failed_at is not null
        and workflow >= coalesce(@workflow, '')
      order by workflow, code, node limit 1)
    union all
    select n.* from k cross join lateral (
      select workflow, code, node from pawl.failure f
       where shard = s.shard and failed_at is not null
         and (f.workflow, f.code, f.node) > (k.workflow, k.code, k.node)
       order by workflow, code, node limit 1) n
     where @workflow is null or k.workflow = @workflow)
  select k.workflow, k.code, k.node, c.count, a.failed_at as first_at,
         z.failed_at as last_at, z.instance as example, i.error
    from k
   cross join lateral (
    select count(*) as count from (
      select 1 from pawl.failure f
       where shard = s.shard and workflow = k.workflow and code = k.code
         and node = k.node and failed_at is not null
       limit @most) f) c
   cross join lateral (
    select failed_at from pawl.failure f
     where shard = s.shard and workflow = k.workflow and code = k.code
       and node = k.node and failed_at is not null
     order by failed_at limit 1) a
   cross join lateral (
    select failed_at, instance from pawl.failure f
     where shard = s.shard and workflow = k.workflow and code = k.code
       and node = k.node and failed_at is not null
     order by failed_at desc limit 1) z
    left join lateral (
    select error from pawl.instance
     where shard = s.shard and id = z.instance offset 0) i on true
   where @workflow is null or k.workflow = @workflow
   limit @max) p;
