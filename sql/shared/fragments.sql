-- Pieces that statements have in every dialect: {{name}} stands for one, and
-- {{name x; y}} for one with x and y in the place of {{1}} and {{2}}. Each has
-- more of its own; those that mean the same have the same name.

-- fragment: suspended
-- Is this workflow suspended, by itself or by what its code begins with?
exists (select 1 from pawl.suspension p
         where p.is_prefix = false and p.code = {{1}})
  or exists (select 1 from pawl.suspension p
              where p.is_prefix = true
                and left({{1}}, length(p.code)) = p.code)

-- fragment: unless_suspended
not exists (select 1 from pawl.suspension p
             where p.is_prefix = false and p.code = {{1}})
  and not exists (select 1 from pawl.suspension p
                   where p.is_prefix = true
                     and left({{1}}, length(p.code)) = p.code)

-- fragment: startable
-- The version that a start asks for, else the newest active one, or 0 where
-- nobody knows the code; none if it is not active.
(select coalesce(@version,
                 (select version from pawl.workflow
                   where code = @workflow and current and active
                   order by version desc limit 1), 0) as version) r
  where not exists (select 1 from pawl.workflow w
                     where w.code = @workflow and w.current
                       and r.version in (w.version, 0)
                       and not w.active)

-- fragment: agenda_columns
shard, instance, workflow, version, executor_group, priority, ready,
  due_at, takeovers, latch

-- fragment: wake_row
-- A row of the agenda, whether it is there or not, from pawl.instance.
insert into pawl.agenda as a ({{agenda_columns}})
select shard, id, workflow, version, executor_group, priority, true,
       {{now}}, 0, 1
  from pawl.instance

-- fragment: raise_latch
-- On a leased row only the latch rises.
on conflict (shard, instance) do update
  set latch = a.latch + 1,
      ready = a.ready or a.lease is null,
      due_at = case when a.lease is null
                    then least(a.due_at, excluded.due_at)
                    else a.due_at end

-- fragment: shown_status
-- A status as it is shown: a stored one that runs may not have begun.
case when {{3}} = 'running' and started_at is null
   and not exists (select 1 from pawl.agenda a
        where a.shard = {{1}} and a.instance = {{2}}
          and a.lease is not null)
  then 'created' else {{3}} end as status

-- fragment: variables_of
-- An instance's variables, wherever they stand.
case when {{1}} = 0 then {{2}}
     else (select ('{' || string_agg(v.members, ',') || '}')::json
             from pawl.variable v
            where v.shard = @shard and v.instance = {{3}}) end
  as variables

-- fragment: listed
-- What a list shows of instance t; @brief: no more than is counted.
t.id, {{shown_status t.shard; t.id; t.status}}, t.workflow, t.version, t.node,
  case when @brief then null else t.error end as error, {{whose t.}},
  {{gone t.}}, {{times t.}}

-- fragment: is_asked
-- Is instance t what a list is asked for?
t.deleted_at is null and {{is_fitting}}

-- fragment: is_fitting
(@statuses is null or strpos(@statuses, t.status) > 0)
  and (@begun is null or t.status <> 'running'
       or @begun = (t.started_at is not null or {{is_leased t}}))
  and (@workflow is null or t.workflow = @workflow)
  and (@version is null or t.version = @version)
  and (@tenant is null or t.tenant = @tenant)
  and (@correlation is null or t.correlation = @correlation)
  and (@business_from is null or t.business_key >= @business_from
       and t.business_key < @business_to)
  and (@key is null or t.key = @key)
  and (@parent is null or t.parent = @parent)
  and (@root is null or t.root = @root)
  and (@executor_group is null or t.executor_group = @executor_group)
  and (@error is null or left(t.error::text, length(@error)) = @error)
  and (@node is null or {{stands_at t; @node}})
  and (@created_after is null or t.created_at >= @created_after)
  and (@created_before is null or t.created_at < @created_before)
  and (@updated_after is null or t.updated_at >= @updated_after)
  and (@updated_before is null or t.updated_at < @updated_before)
  and (@completed_after is null or t.completed_at >= @completed_after)
  and (@completed_before is null or t.completed_at < @completed_before)
  and (@attributes is null or {{attributes_fit t}})

-- fragment: is_leased
exists (select 1 from pawl.agenda a
         where a.shard = {{1}}.shard and a.instance = {{1}}.id
           and a.lease is not null offset 0)

-- fragment: stands_at
-- Does instance {{1}} stand at that node, or has it ended there? One that has
-- forked stands where its tokens do.
({{1}}.node = {{2}}
   and ({{1}}.token_no is not null or {{1}}.completed_at is not null)
 or exists (select 1 from pawl.token k
             where k.shard = {{1}}.shard and k.instance = {{1}}.id
               and k.node = {{2}} and k.state in ('active', 'waiting')
             offset 0))

-- fragment: attribute_walk
select {{listed}}
  from (select instance as found from pawl.attribute
         where shard = s.shard and name = @name and sortable = @sortable
           and instance > @low and instance < @high and {{2}}
         order by instance {{1}}) f
  {{instance_at s.shard; f.found}}
 where {{is_asked}}
 order by f.found {{1}} limit @max

-- fragment: tenant_walk
select {{listed}} from pawl.instance t
 where t.shard = s.shard and t.tenant = @tenant
   and t.id > @low and t.id < @high and {{2}} and {{is_asked}}
 order by t.id {{1}} limit @max

-- fragment: deleted_walk
select {{listed}}
  from pawl.instance t
       indexed by pawl_instance_deleted -- only: sqlite
 where t.shard + 0 = s.shard and t.deleted_at is not null
   and t.id > @low and t.id < @high and {{2}} and {{is_fitting}}
 order by t.id {{1}} limit @max

-- fragment: put_letter
insert into pawl.inbox (shard, instance, no, kind, event_id, source, by,
       data, received_at)
select @shard, @id, @no, @kind, @event_id, @source, @by, @data, {{now}}
  from pawl.agenda where shard = @shard and instance = @id

-- fragment: task_fits
-- What a list of tasks may ask for beside its own; and a page of it.
(@instance is null or t.instance = @instance)
  and (@form is null or t.form = @form)
  and (@priority is null or t.priority = @priority)

-- fragment: task_page
(@priority is null or t.priority = @priority)
    and (@due is null or t.due_at <= @due)
    and (@before is null or t.id < @before)
  order by t.id desc limit @max

-- fragment: task_fits_page
(@instance is null or t.instance = @instance)
  and (@form is null or t.form = @form)
  and {{task_page}}

-- fragment: tasks_of
-- Those that a user is to do, or is doing.
select t.id, t.due_at
  {{from_each}} (
   select t.id, t.due_at from pawl.task t
    where t.shard = s.shard and t.status = s.status and t.{{1}} = @owner
      and {{task_fits_page}}) t

-- fragment: detail_of
-- What the token of the subscription s has kept.
coalesce((
  select t.detail from pawl.token t
   where t.shard = @shard and t.instance = i.id
     and t.no = s.token), i.token_detail)

-- fragment: fresh_rows
-- Of the agenda: what workers of a group may claim, and what they may take
-- over.
where shard = @shard and executor_group = @executor_group
  and ready and lease is null and takeovers = 0

-- fragment: suspect_rows
where shard = @shard and executor_group = @executor_group
  and ready and (lease is not null or takeovers > 0)

-- fragment: commit_sets
-- What a commit sets, of the rows s.
commits = i.commits + 1, lease = s.lease, seq = s.seq,
  variables = case when s.parts is null then i.variables else s.variables end,
  parts = coalesce(s.parts, i.parts)

-- fragment: attribute_row
(shard, instance, name, type, text_value, date_value, bytes_value,
       float_value, number_value, boolean_value, sortable, workflow,
       updated_at)
select @shard, s.id, s.name, s.type, s.text_value, s.date_value,
       s.bytes_value, s.float_value, s.number_value, s.boolean_value,
       s.sortable,

-- fragment: has_text
-- Is the text that is searched for in {{1}}, in either case?
strpos(lower({{1}}), lower(@search)) > 0

-- fragment: purge_first
-- Of an instance, the first @max rows of {{1}} by {{2}}; {{3}}: the other way
-- round. As a range, so that a batch costs what it takes away.
delete from pawl.{{1}}
 where shard = @shard and instance = @id and ({{2}}) <= (
  select {{2}} from (
    select {{2}} from pawl.{{1}}
     where shard = @shard and instance = @id order by {{2}} limit @max) f
   order by {{3}} limit 1)
