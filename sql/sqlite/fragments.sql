-- Pieces that several statements have: {{name}} stands for one, and
-- {{name x; y}} for one with x and y in the place of {{1}} and {{2}}.

-- fragment: to_agenda
-- Differs: a trigger puts it there.

-- fragment: at_commits
-- Behind an update of instance i, which has token {{1}} then: the held one as
-- it was read.
where shard = @shard and id = @id
   and case when commits = @commits and status = @was and {{lease_guard}}
            then {{turned @status; {{1}}; @updated_at}} end

-- fragment: at_end
{{at_commits null}}

-- fragment: counted_node
-- Where an instance is counted, by its status, token_no and node.
case when {{2}} is not null and {{1}} in ('waiting', 'suspended')
     then {{3}} else '' end

-- fragment: turned
-- True: and it is counted that an instance has status {{1}}, token {{2}} and
-- @node from {{3}} on (store/sqturns.h). To be asked last.
case when deleted_at is null
     then pawl_turned(shard, workflow, version,
            status, {{counted_node status; token_no; node}},
            {{1}}, {{counted_node {{1}}; {{2}}; @node}}, {{3}})
     else 1 end

-- fragment: lease_guard
-- The lease guard.
exists (select 1 from pawl_agenda a
  where a.shard = @shard and a.instance = @id
    and a.lease = @lease
    and (@latch is null or a.latch = @latch))

-- fragment: now
@now

-- fragment: from_now
-- So long after now.
@now + {{1}}

-- fragment: from_each
-- For the row that is sent, what stands behind this in parentheses.
from

-- fragment: from_held
-- The row that is sent, if its lease is held.
where {{lease_guard}}

-- fragment: from_each_held
-- Both; behind the parentheses stands {{where_held}}.
from

-- fragment: where_held
where {{lease_guard}}

-- fragment: at_place
-- Behind an update of {{1}} t: the held instance's row where {{2}}.
where shard = @shard and {{2}} and {{lease_guard}}

-- fragment: delete_held
-- Of the held instance, the rows of {{1}} where {{2}}.
delete from pawl_{{1}}
 where shard = @shard and instance = @id and {{2}} and {{lease_guard}}

-- fragment: delete_listed
delete from pawl_{{1}} where shard = @shard and {{2}} = @id

-- fragment: held_instances_go
-- Differs: a trigger counts it, as {{1}} where the archive has it.
delete from pawl_instance
 where shard = @shard and id = @id and {{lease_guard}}

-- fragment: leased_anew
-- What a claim sets.
ready = 0, lease = @lease, executor = @executor,
  was_executor = executor, was_due_at = due_at

-- fragment: claimed
-- What a claim tells of its rows.
returning instance, takeovers, latch, was_due_at, was_executor, priority,
  @now as now

-- fragment: claim_from
-- Which rows of the wanted versions are claimed.
where shard = @shard and instance in (
  select a.instance
    from json_each(@workflow) w
   cross join json_each(@version) v on v.key = w.key
   cross join pawl_agenda a on a.shard = @shard and a.instance in (
      select b.instance from pawl_agenda b
       where b.shard = @shard and b.executor_group = @executor_group
         and b.workflow = w.value and b.version = v.value
         and b.ready and {{1}}
       order by b.priority desc, b.due_at limit {{2}})
   where {{unless_suspended w.value}}
   order by a.priority desc, a.due_at limit {{2}})

-- fragment: live_in
-- A page of a version's instances with that status.
select t.id, t.commits, t.started_at is not null as started, t.compensation,
        {{2}} as stopped
   from pawl_instance t
  where t.shard = @shard and t.workflow = @workflow and t.status = {{1}}
    and t.id > @after and t.version = @version
    and t.deleted_at is null

-- fragment: event_fits
-- Is it of the name or the pattern that a wait is for?
(name = @name
         or (substr(name, 1, length(@prefix)) = @prefix
             and instr(substr(name, length(@prefix) + 1), '.') = 0))
    and (@taker is null or taker is null or taker = @taker)
    and expires_at > @now
  order by received_at, came limit @max

-- fragment: event_row
insert or replace into pawl_event (shard, tenant, source, id, name, key, data,
  by, came, posted, received_at, expires_at)

-- fragment: owned
-- A page of an owner's tasks, those that are open apart from the others.
select t.id, t.due_at
  from pawl_owner o
  cross join pawl_task t on t.shard = o.shard and t.id = o.task
 where o.shard = @shard and o.kind = @kind and o.id = @owner
   and o.open = (@status in ('pending', 'running'))
   and o.task > @low and o.task < @high and {{2}}
   and t.status = @status and {{task_fits}}
 order by o.task {{1}} limit @max

-- fragment: pattern_fits
-- Is this event of the pattern of the subscription s?
case when s.pattern like '%*'
  then substr({{1}}.name, 1, length(s.pattern) - 1)
       = substr(s.pattern, 1, length(s.pattern) - 1)
       and instr(substr({{1}}.name, length(s.pattern)),
                  '.') = 0
  else {{1}}.name = s.pattern end

-- fragment: letters_for
-- The events of that name that the search is for: those with its key; those
-- without; and, of a search without one, those that were sent to it with any.
select no from (
      select no from pawl_inbox
       where name = {{1}} and key = @key and {{letters_behind}})
    union all
    select no from (
      select no from pawl_inbox
       where name = {{1}} and key is null and (addressed or @key is null)
         and {{letters_behind}})
    union all
    select no from (
      select no from pawl_inbox
       where name = {{1}} and key >= '' and addressed and @key is null
         and {{letters_behind}})

-- fragment: letters_behind
-- The first of an inbox behind those seen.
shard = @shard and instance = @id and kind = 'event' and not taken
    and (received_at, no) > (@after_at, @after_no)
  order by received_at, no limit @max

-- fragment: leased
-- The lease guard, whatever has come in.
exists (select 1 from pawl_agenda a
  where a.shard = @shard and a.instance = @id
    and a.lease = @lease)

-- fragment: instance_at
-- Beside what is found: the instance t of that shard and id.
cross join pawl_instance t on t.shard = {{1}} and t.id = {{2}}

-- fragment: tasks_of
-- Beside what is found: the tasks t of an instance.
cross join pawl_task t indexed by pawl_task_visit
    on t.shard = {{1}} and t.instance = {{2}}

-- fragment: archived_at
-- The same of those that were archived.
cross join ({{archived}}) t on t.shard = {{1}} and t.id = {{2}}

-- fragment: offers
-- Versions of which fragment {{1}}_rows has rows, as {{1}}: from one to the
-- next in the index, first of workflows, then of each one's versions.
{{1}}_code (workflow) as (
  select (select min(workflow) from pawl_agenda
           {{{{1}}_rows}})
  union all
  select (select min(a.workflow) from pawl_agenda a
           {{{{1}}_rows}}
             and a.workflow > c.workflow)
    from {{1}}_code c where c.workflow is not null),
{{1}} (workflow, version) as (
  select c.workflow, (select min(a.version) from pawl_agenda a
           {{{{1}}_rows}}
             and a.workflow = c.workflow)
    from {{1}}_code c where c.workflow is not null
  union all
  select f.workflow, (select min(a.version) from pawl_agenda a
           {{{{1}}_rows}}
             and a.workflow = f.workflow and a.version > f.version)
    from {{1}} f where f.version is not null)

-- fragment: status_walk
select {{listed}} from pawl_instance t indexed by pawl_instance_workflow
 where t.shard = @shard and t.status = @status and t.workflow = @workflow
   and t.id > @low and t.id < @high and {{2}} and {{is_asked}}
 order by t.id {{1}} limit @max

-- fragment: status_merge
-- Of all workflows, where {{4}}: each one's next entry behind {{3}} stands in
-- the queue of a recursion, which takes the first of them and asks for the one
-- behind that, until the limit is reached. So it is in order as it comes. The
-- queue's own limit is none: SQLite leaves out the order of what is joined and
-- has no limit, of a recursion, too.
select {{listed}} from (
  with recursive code (name) as (
    select min(workflow) from pawl_instance indexed by pawl_instance_workflow
     where shard = @shard and @workflow is null and {{4}}
    union all
    select (select min(workflow) from pawl_instance
                   indexed by pawl_instance_workflow
             where shard = @shard and workflow > code.name)
      from code where name is not null),
  queue (workflow, id) as (
    select name, {{status_next {{1}}; {{2}}; name; {{3}}}}
      from code where name is not null
    union all
    select workflow, {{status_next {{1}}; {{2}}; queue.workflow; queue.id}}
      from queue where id is not null
     order by 2 {{1}} limit -1)
  select id from queue where id is not null) f
 cross join pawl_instance t
 where t.shard = @shard and t.id = f.id and {{is_asked}} limit @max

-- fragment: status_next
-- The id behind {{4}} ({{2}}) of workflow {{3}}, in the order {{1}}.
(select id from pawl_instance indexed by pawl_instance_workflow
  where shard = @shard and workflow = {{3}} and status = @status
    and id {{2}} {{4}} and id > @low and id < @high
  order by id {{1}} limit 1)

-- fragment: cancelled_so
-- Who has cancelled instance t, as its cancellation says so.
t.cancellation is not null
  and substr(t.cancellation, instr(t.cancellation, ',"by":'),
       instr(t.cancellation, ',"source":')
       - instr(t.cancellation, ',"by":') + 1)

-- fragment: undone_so
-- How its undoing stands, or has ended, as its compensation begins.
t.compensation is not null
  and substr(t.compensation, 1, instr(t.compensation, ','))

-- fragment: attribute_ranges
-- Instances with an attribute @name in one of @ranges, which do not overlap.
select a.instance from json_each(@ranges) r
 cross join pawl_attribute a
 where @by = 'attribute' and a.shard = @shard and a.name = @name
   and a.sortable >= json_extract(r.value, '$[0]')
   and a.sortable < json_extract(r.value, '$[1]')

-- fragment: failed_so
-- Failures with a code between two, of each workflow: from one to the next in
-- their index. Not as a join, for which SQLite would fill a filter with all of
-- them, once it has counted them.
select j.instance from pawl_failure j indexed by pawl_failure_code
 where @by = 'code' and j.shard = @shard
   and j.code >= @code_from and j.code < @code_to
   and j.workflow in (
  with recursive w (workflow) as (
    select (select min(workflow) from pawl_failure
             where @by = 'code' and shard = @shard
               and workflow >= coalesce(@workflow, ''))
    union all
    select (select min(workflow) from pawl_failure
             where shard = @shard and workflow > w.workflow)
      from w where @workflow is null and w.workflow is not null)
  select workflow from w where workflow is not null)

-- fragment: attributes_fit
-- Has instance {{1}} an attribute for each of @attributes, in one of its
-- ranges?
not exists (
  select 1 from json_each(@attributes) c where not exists (
    select 1 from pawl_attribute a
     where a.shard = {{1}}.shard and a.instance = {{1}}.id
       and a.name = json_extract(c.value, '$.name')
       and exists (select 1 from json_each(c.value, '$.ranges') r
                    where a.sortable >= json_extract(r.value, '$[0]')
                      and a.sortable < json_extract(r.value, '$[1]'))))

-- fragment: trimmed_upto
-- Up to which row the history was trimmed; 0: it was not.
coalesce((select json_extract(output, '$.upto') from pawl_history
           where shard = @shard and instance = @id and seq = 0), 0)

-- fragment: error_code
coalesce(json_extract(error, '$.code'), '')

-- fragment: member
-- A member of JSON, as text.
json_extract({{1}}, '$.{{2}}')

-- fragment: is_ready
-- What workers may claim, of the agenda.
indexed by pawl_agenda_ready
  where shard = @shard and ready and lease is null and takeovers = 0

-- fragment: never
-- The end of time (PAWL_TIME_MAX).
253402300799999999

-- fragment: outbox_due
-- The first @walk rows whose time has come.
select rowid as place, instance, seq from pawl_outbox
   where shard = @shard and published_at is null and due_at <= @now
   order by due_at, instance, seq limit @walk
