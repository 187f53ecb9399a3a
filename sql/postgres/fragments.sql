-- Pieces that several statements have: {{name}} stands for one, and
-- {{name x; y}} for one with x and y in the place of {{1}} and {{2}}.

-- fragment: rows
-- A statement's lists, as rows.
unnest({{@lists}}) as s ({{lists}})

-- fragment: in_shard_of
-- Is {{1}} in that of {{2}}? Behind this what else the key has of {{2}}, and no
-- constant: so {{1}} is found by all of it, or in no way that is allowed (0006).
{{1}}.shard = any (array[{{2}}.shard])

-- fragment: short_rows
-- The same, of which the planner is told that they are few.
(select * from {{rows}}
  limit cardinality(@id)) s

-- fragment: flat_rows
-- The same, without a store of its own for them; each has the shard.
(select {{unnested}}, @shard as shard limit cardinality(@id)) s

-- fragment: lease_guard
-- The lease guard, behind rows s of id, lease, latch.
cross join lateral (
  select 1 from pawl.agenda a
   where a.shard = @shard and a.instance = s.id and a.lease = s.lease
     and (s.latch is null or a.latch = s.latch) offset 0) held

-- fragment: claimed
-- What a claim tells of its rows.
returning a.instance, a.takeovers, a.latch, a.was_due_at, a.was_executor,
  a.priority, coalesce(@now, now()) as now

-- fragment: task_locked
-- The task of a visit, as it is when it can be had.
cross join lateral (
   select * from pawl.task
    where shard = @shard and instance = s.id and token = s.token
      and visit = s.visit for update) o
on conflict (shard, id) do update

-- fragment: task_columns
shard, id, instance, token, node, visit, title,
  status, priority, created_at, updated_at

-- fragment: owned
-- A page of an owner's tasks, those that are open apart from the others.
select t.id, t.due_at
  from pawl.owner o
 cross join lateral (
  select * from pawl.task
   where shard = o.shard and id = o.task offset 0) t
 where o.shard = s.shard and o.kind = s.kind and o.id = s.owner
   and o.open {{2}} (s.status in ('pending', 'running'))
   and (o.open, o.task) < (s.status in ('pending', 'running'), @high)
   and (o.open, o.task) > (s.status in ('pending', 'running'), @low)
   and {{3}} and t.status = s.status and {{task_fits}}
 order by o.open {{1}}, o.task {{1}} limit @max

-- fragment: pattern_fits
-- Is this event of the pattern of the subscription s?
case when s.pattern like '%*'
  then starts_with({{1}}.name, left(s.pattern, -1))
       and strpos(substr({{1}}.name, length(s.pattern)),
                  '.') = 0
  else {{1}}.name = s.pattern end

-- fragment: name_fits
(e.name = s.name
       or (left(e.name, length(s.prefix)) = s.prefix
           and strpos(substr(e.name, length(s.prefix) + 1), '.') = 0))
  and (s.taker is null or e.taker is null or e.taker = s.taker)
  and e.expires_at > coalesce(@now, now())

-- fragment: counter_columns
shard, workflow, version, was, was_node, status, node, minute, amount

-- fragment: counted_node
-- Where an instance is counted, by its status, token_no and node.
case when {{2}} is not null and {{1}} in ('waiting', 'suspended')
     then {{3}} else '' end

-- fragment: counted_transfers
-- Of instances `moved`, those that are of another version now.
select @shard, workflow, v.version, v.was, v.was_node, v.status, v.node,
       date_trunc('minute', updated_at), 1
  from moved m cross join lateral (
   values (m.was_version, m.status, m.node, 'transferred', ''),
          (m.version, 'transferred', '', m.status, m.node))
   v (version, was, was_node, status, node)
 where m.version <> m.was_version and m.deleted_at is null

-- fragment: to_agenda
-- What a start gives as `new`, and with that its places in standing, counter
-- and agenda.
returning id, version, priority, executor_group, created_at,
  coalesce(token_due_at, created_at) as due_at), stand as (
insert into pawl.standing (shard, workflow, status, instance)
select @shard, @workflow, 'running', id from new), counted as (
insert into pawl.counter ({{counter_columns}})
select @shard, @workflow, min(version), '', '', 'running', '',
       date_trunc('minute', min(created_at)), count(*)
  from new having count(*) > 0)
insert into pawl.agenda ({{agenda_columns}})
select @shard, id, @workflow, version, executor_group, priority,
       due_at <= created_at, due_at, 0, 0 from new

-- fragment: at_commits
-- Behind an update of instance i, `moved`: the held ones as they were read; and
-- their places in standing and counter.
{{moved_at_commits}})
{{moved_stand}}

-- fragment: at_end
-- The same of those that end, and who waits for that is told.
{{moved_at_commits}}), told as (
{{waiters_are_told}})
{{moved_stand}}

-- fragment: moved_at_commits
from {{flat_rows}} {{lease_guard}}
  cross join lateral (
   select ctid as place, {{counted_node status; token_no; node}} as was_node
     from pawl.instance
    where shard = @shard and id = s.id and commits = s.commits offset 0) g
 where i.shard = @shard and i.ctid = g.place and i.commits = s.commits
returning i.shard, i.id, i.workflow, i.version, i.status, s.was, g.was_node,
  {{counted_node i.status; i.token_no; i.node}} as node, i.deleted_at, i.updated_at
), counted as (
insert into pawl.counter ({{counter_columns}})
select @shard, workflow, version, was, was_node, status, node,
       date_trunc('minute', max(updated_at)), count(*)
  from moved
 where deleted_at is null and (was, was_node) <> (status, node)
 group by workflow, version, was, was_node, status, node

-- fragment: moved_stand
update pawl.standing t set status = m.status
  from moved m
 where {{in_shard_of t; m}} and t.workflow = m.workflow
   and t.status = m.was and t.instance = m.id and m.status <> m.was

-- fragment: waiters_are_told
-- As `moved` are over: hardly anybody waits, so it is asked once whether
-- anybody does. What is told goes out with the commit.
delete from pawl.waiter w
 where w.ctid = any (array(
  select g.place from moved m
   cross join lateral (
    select ctid as place from pawl.waiter
     where (select exists (select from pawl.waiter))
       and shard = @shard and instance = m.id offset 0) g))
returning pg_notify('pawl_wake', w.instance::text)

-- fragment: readable
-- A member of json cannot be asked for where any text in it has a zero.
replace({{1}}::text, '\u0000', '\u0020')::json

-- fragment: now
-- The test's clock, or the store's.
coalesce(@now, now())

-- fragment: from_now
-- So long after now.
coalesce(@now, now()) + {{1}} * interval '1 microsecond'

-- fragment: from_each
-- For each row of the lists, what stands behind this in parentheses.
from {{rows}} cross join lateral

-- fragment: from_held
-- The rows of the lists whose leases are held.
from {{rows}} {{lease_guard}}

-- fragment: from_each_held
-- Both; behind the parentheses stands {{where_held}}.
from {{rows}} {{lease_guard}} cross join lateral

-- fragment: where_held

-- fragment: at_place
-- Behind an update of {{1}} t: each held instance's row where {{2}}.
from {{short_rows}} {{lease_guard}}
  cross join lateral (
   select ctid as place from pawl.{{1}}
    where shard = @shard and {{2}} offset 0) g
 where t.shard = @shard and t.ctid = g.place

-- fragment: delete_held
-- Of each held instance, the rows of {{1}} where {{2}}.
delete from pawl.{{1}} t
 using {{short_rows}} {{lease_guard}}
  cross join lateral (
   select ctid as place from pawl.{{1}}
    where shard = @shard and instance = s.id and {{2}} offset 0) g
 where t.shard = @shard and t.ctid = g.place

-- fragment: delete_listed
-- Of each in the list, the rows of {{1}} whose {{2}} it is.
delete from pawl.{{1}} o
 using {{short_rows}}
 cross join lateral (
  select ctid as place from pawl.{{1}}
   where shard = @shard and {{2}} = s.id offset 0) g
 where o.shard = @shard and o.ctid = g.place

-- fragment: held_instances_go
-- They are counted as {{1}} from now on.
with gone as (
delete from pawl.instance i
 using {{short_rows}} {{lease_guard}}
 cross join lateral (
  select ctid as place from pawl.instance
   where shard = @shard and id = s.id offset 0) g
 where i.shard = @shard and i.ctid = g.place
returning i.workflow, i.version, i.status, i.id, i.deleted_at,
          {{counted_node i.status; i.token_no; i.node}} as node), counted as (
insert into pawl.counter ({{counter_columns}})
select @shard, workflow, version,
       case when deleted_at is null then status else 'deleted' end,
       case when deleted_at is null then node else '' end, {{1}}, '',
       to_timestamp(0), count(*)
  from gone group by 2, 3, 4, 5)
delete from pawl.standing t
 using gone g cross join lateral (
   select ctid as place from pawl.standing
    where shard = @shard and workflow = g.workflow and status = g.status
      and instance = g.id offset 0) p
 where t.shard = @shard and t.ctid = p.place

-- fragment: running_place
-- Behind an update of instance i: the rows s that run, as they were read.
where {{in_shard_of i; s}} and i.id = s.id
  and i.commits = s.commits and i.status = 'running'

-- fragment: offers
-- Versions of which fragment {{1}}_rows has rows, as {{1}}: from one to the
-- next in the index.
{{1}} as (
  (select workflow, version from pawl.agenda
    {{{{1}}_rows}}
    order by workflow, version limit 1)
  union all
  select n.workflow, n.version from {{1}} f cross join lateral (
    select workflow, version from pawl.agenda a
     {{{{1}}_rows}}
       and (a.workflow, a.version) > (f.workflow, f.version)
     order by workflow, version limit 1) n
)

-- fragment: candidates
-- Ready rows of the wanted versions, the first {{2}}, read without locks.
select a.place, a.priority, a.due_at
    from unnest(@workflow, @version) as w (workflow, version)
   cross join lateral (
     select ctid as place, priority, due_at from pawl.agenda
      where shard = @shard and executor_group = @executor_group
        and workflow = w.workflow and version = w.version
        and ready and {{1}}
      order by priority desc, due_at limit {{2}}) a
   where {{unless_suspended w.workflow}}
   order by a.priority desc, a.due_at limit {{2}}

-- fragment: locked
-- The candidate c, if it is still one and nobody has it.
(select ctid as place from pawl.agenda
     where shard = @shard and ctid = c.place
       and ready and {{1}} for update skip locked)

-- fragment: leased_anew
-- What a claim sets.
ready = false, lease = @lease, executor = @executor,
       was_executor = a.executor, was_due_at = a.due_at

-- fragment: instance_at
-- Beside what is found: the instance t of that shard and id.
cross join lateral (
  select * from pawl.instance where shard = {{1}} and id = {{2}} offset 0) t

-- fragment: tasks_of
-- Beside what is found: the tasks t of an instance, in the order of their
-- index. A plan made for a page of ids would walk the shard's.
cross join lateral (
  select * from pawl.task where shard = {{1}} and instance = {{2}}
   order by token, visit offset 0) t

-- fragment: archived_at
-- The same of those that were archived.
cross join lateral (
  select * from ({{archived}}) a where shard = {{1}} and id = {{2}} offset 0) t

-- fragment: status_walk
select {{listed}}
  from (select instance as found from pawl.standing
         where shard = s.shard and workflow = w.workflow and status = s.status
           and instance > @low and instance < @high and {{2}}
         order by instance {{1}}) f
  {{instance_at s.shard; f.found}}
 where {{is_asked}}
 order by f.found {{1}} limit @max

-- fragment: cancelled_so
-- Who has cancelled instance t, as its cancellation says so.
t.cancellation is not null
  and pawl.cancelled_so(t.cancellation)

-- fragment: undone_so
-- How its undoing stands, or has ended, as its compensation begins.
t.compensation is not null
  and pawl.undone_so(t.compensation)

-- fragment: attribute_ranges
-- Instances with an attribute @name in one of @ranges, which do not overlap. In
-- the order of their index, so that no other would do.
select a.instance from json_array_elements(@ranges) r
 cross join lateral (
  select instance from pawl.attribute
   where @by = 'attribute' and shard = s.shard and name = @name
     and sortable >= r.value ->> 0 and sortable < r.value ->> 1
   order by sortable offset 0) a

-- fragment: failed_so
-- Failures with a code between two, of each workflow: from one to the next in
-- their index.
select j.instance from (
  with recursive w (workflow) as (
    select (select workflow from pawl.failure
             where @by = 'code' and shard = s.shard and failed_at is not null
               and workflow >= coalesce(@workflow, '')
             order by workflow limit 1)
    union all
    select (select workflow from pawl.failure
             where shard = s.shard and failed_at is not null
               and workflow > w.workflow
             order by workflow limit 1)
      from w where @workflow is null and w.workflow is not null)
  select workflow from w where workflow is not null) w
 cross join lateral (
  select instance from pawl.failure
   where shard = s.shard and workflow = w.workflow
     and failed_at is not null and code >= @code_from and code < @code_to
   order by code offset 0) j

-- fragment: attributes_fit
-- Has instance {{1}} an attribute for each of @attributes, in one of its
-- ranges?
not exists (
  select 1 from json_array_elements(@attributes) c where not exists (
    select 1 from pawl.attribute a
     where a.shard = {{1}}.shard and a.instance = {{1}}.id
       and a.name = c.value ->> 'name'
       and exists (select 1 from json_array_elements(c.value -> 'ranges') r
                    where a.sortable >= r.value ->> 0
                      and a.sortable < r.value ->> 1 offset 0)
    offset 0) offset 0)

-- fragment: trimmed_upto
-- Up to which row the history was trimmed; 0: it was not.
coalesce((select (output ->> 'upto')::integer from pawl.history
           where shard = @shard and instance = @id and seq = 0), 0)

-- fragment: error_code
-- '' of what jsonb cannot hold.
coalesce(pawl.as_jsonb(error) ->> 'code', '')

-- fragment: member
-- A member of JSON, as text.
({{1}} ->> '{{2}}')

-- fragment: never
-- The end of time (PAWL_TIME_MAX).
timestamptz '9999-12-31 23:59:59.999999+00'

-- fragment: outbox_due
-- The first @walk rows whose time has come, read without locks.
select ctid as place, instance, seq from pawl.outbox
   where shard = @shard and published_at is null
     and due_at <= {{now}}
   order by due_at, instance, seq limit @walk

-- fragment: outbox_rows
-- A statement's lists, as few rows.
(select {{unnested}} limit cardinality(@instance)) s

-- fragment: outbox_row
-- The row that s names, locked. By its key: no index of fewer rows would do.
(select ctid as place, published_at, dead_at, lease, due_at, attempts
      from pawl.outbox t
     where t.shard = @shard and t.instance = s.instance and t.seq = s.seq
    offset 0 for update)

-- fragment: letters_for
-- The first of an inbox behind those seen, of a name, and as is said besides;
-- in which order, in the words that the planner knows the index by.
(select i.instance, i.no, i.kind, i.name, i.key, i.event_id, i.source,
           i.by, i.data, i.addressed, i.received_at
      from pawl.inbox i
     where i.shard = @shard and i.instance = s.id and i.kind = 'event'
       and not i.taken and i.name = w.name and {{1}}
       and (i.received_at, i.no) > (s.after_at, s.after_no)
     order by {{2}}, i.no limit s.max)
