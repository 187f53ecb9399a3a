-- name: stats_ready
-- Differs: no lateral joins; the jumps go column by column.
with recursive
g (g) as (
  select (select min(executor_group) from pawl_agenda {{is_ready}})
  union all
  select (select min(executor_group) from pawl_agenda {{is_ready}}
             and executor_group > g.g)
    from g where g.g is not null),
w (g, w) as (
  select g, (select min(workflow) from pawl_agenda {{is_ready}}
                and executor_group = g.g)
    from g where g is not null
  union all
  select w.g, (select min(workflow) from pawl_agenda {{is_ready}}
                  and executor_group = w.g and workflow > w.w)
    from w where w.w is not null),
v (g, w, v) as (
  select w.g, w.w, (select min(version) from pawl_agenda {{is_ready}}
                       and executor_group = w.g and workflow = w.w)
    from w where w.w is not null
  union all
  select v.g, v.w, (select min(version) from pawl_agenda {{is_ready}}
                       and executor_group = v.g and workflow = v.w
                       and version > v.v)
    from v where v.v is not null),
p (g, w, v, p) as (
  select v.g, v.w, v.v, (select max(priority) from pawl_agenda {{is_ready}}
                            and executor_group = v.g and workflow = v.w
                            and version = v.v)
    from v where v.v is not null
  union all
  select p.g, p.w, p.v, (select max(priority) from pawl_agenda {{is_ready}}
                            and executor_group = p.g and workflow = p.w
                            and version = p.v and priority < p.p)
    from p where p.p is not null)
select p.g as executor_group, p.w as workflow, p.v as version,
       (select count(*) from (
          select 1 from pawl_agenda {{is_ready}}
             and executor_group = p.g and workflow = p.w and version = p.v
           limit @max)) as ready,
       min((select min(due_at) from pawl_agenda {{is_ready}}
               and executor_group = p.g and workflow = p.w
               and version = p.v and priority = p.p)) as since
  from p where p.p is not null
 group by p.g, p.w, p.v;

-- name: problem_list
-- Differs: the jumps go column by column.
with recursive
w (w) as (
  select coalesce(@workflow, (
           select min(workflow) from pawl_failure where shard = @shard))
  union all
  select (select min(workflow) from pawl_failure
           where shard = @shard and workflow > w.w)
    from w where @workflow is null and w.w is not null),
c (w, c) as (
  select w.w, (select min(code) from pawl_failure
                where shard = @shard and workflow = w.w)
    from w where w.w is not null
  union all
  select c.w, (select min(code) from pawl_failure
                where shard = @shard and workflow = c.w and code > c.c)
    from c where c.c is not null),
n (w, c, n) as (
  select c.w, c.c, (select min(node) from pawl_failure
                     where shard = @shard and workflow = c.w
                       and code = c.c)
    from c where c.c is not null
  union all
  select n.w, n.c, (select min(node) from pawl_failure
                     where shard = @shard and workflow = n.w
                       and code = n.c and node > n.n)
    from n where n.n is not null),
g (w, c, n, example) as (
  select n.w, n.c, n.n,
         (select instance from pawl_failure
           where shard = @shard and workflow = n.w and code = n.c
             and node = n.n order by failed_at desc limit 1)
    from n where n.n is not null limit @max)
select g.w as workflow, g.c as code, g.n as node,
       (select count(*) from (
          select 1 from pawl_failure
           where shard = @shard and workflow = g.w and code = g.c
             and node = g.n limit @most)) as count,
       (select min(failed_at) from pawl_failure
         where shard = @shard and workflow = g.w and code = g.c
           and node = g.n) as first_at,
       (select max(failed_at) from pawl_failure
         where shard = @shard and workflow = g.w and code = g.c
           and node = g.n) as last_at,
       g.example,
       (select error from pawl_instance
         where shard = @shard and id = g.example) as error
  from g;
