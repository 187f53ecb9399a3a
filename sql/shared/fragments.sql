-- Pieces that statements have in every dialect: {{name}} stands for one, and
-- {{name x; y}} for one with x and y in the place of {{1}} and {{2}}. Each has
-- more of its own; those that mean the same have the same name.

-- fragment: stays_for_ever
-- Does no trimming take that row of history? A request is known by it, or it
-- says what nodes were called before.
(request is not null or type = 'transferred')

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
-- What a list shows of instance t; @brief: no more than is counted. @waits:
-- what its token waits for, when there is one alone, and who has suspended it.
t.id, {{shown_status t.shard; t.id; t.status}}, t.workflow, t.version, t.node,
  case when @brief then null else t.error end as error, {{whose t.}},
  {{shown_place t.parent_place}}, {{gone t.}}, {{times t.}},
  case when @waits then {{suspended t.workflow}} end as stopped,
  case when @waits and t.token_no is not null then t.token_state end as state,
  t.attempt, case when @waits then t.token_detail end as detail,
  case when @waits then t.token_due_at end as look_at,
  {{subscribed pattern}} as event, {{subscribed key}} as event_key,
  {{tasked title}} as title, {{tasked claimed_by}} as claimed_by,
  {{tasked due_at}} as task_due_at,
  {{told_last by; 'suspended'; t.status = 'suspended'}} as who,
  {{told_last text; 'suspended'; t.status = 'suspended'}} as reason,
  {{told_last error; 'failed'; t.token_state = 'active' and t.attempt > 0}}
    as last_error

-- fragment: shown_place
-- What is shown of where a child stands in its parent.
{{member {{1}}; node}} as parent_node,
  {{member {{1}}; index}}::integer as parent_index

-- fragment: subscribed
case when @waits and t.token_state = 'waiting' then (
  select u.{{1}} from pawl.subscription u
   where u.shard = t.shard and u.instance = t.id and u.token = t.token_no)
  end

-- fragment: tasked
case when @waits and t.token_state = 'waiting' then (
  select k.{{1}} from pawl.task k
   where k.shard = t.shard and k.instance = t.id and k.token = t.token_no
     and k.visit = t.visit) end

-- fragment: told_last
-- Of the newest row of a type, if {{3}}.
case when @waits and {{3}} then (
  select h.{{1}} from pawl.history h
   where h.shard = t.shard and h.instance = t.id and h.type = {{2}}
   order by h.seq desc limit 1) end

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
  and (@error is null or left(t.error::text, length(@error)) = @error
       or substr(t.error::text, strpos(t.error::text, ',"message":'),
                 length(@message)) = @message)
  and (@error_code is null
       or left(t.error::text, length(@error_code)) = @error_code)
  and (@cancelled_by is null
       or strpos(t.cancellation::text, @cancelled_by) > 0)
  and (@compensation is null
       or strpos(@compensation,
            left(t.compensation::text, strpos(t.compensation::text, ',')))
          > 0)
  and (@leased is null or @leased = {{is_leased t}})
  and (@due_before is null or {{is_due t; @due_before}})
  and (@deadline_before is null or t.deadline_at < @deadline_before)
  and (@halted is null or @halted = {{halts t}})
  and (@node is null or {{stands_at t; @node}})
  and (@created_after is null or t.created_at >= @created_after)
  and (@created_before is null or t.created_at < @created_before)
  and (@started_after is null or t.started_at >= @started_after)
  and (@started_before is null or t.started_at < @started_before)
  and (@updated_after is null or t.updated_at >= @updated_after)
  and (@updated_before is null or t.updated_at < @updated_before)
  and (@completed_after is null or t.completed_at >= @completed_after)
  and (@completed_before is null or t.completed_at < @completed_before)
  and (@attributes is null or {{attributes_fit t}})

-- fragment: is_leased
exists (select 1 from pawl.agenda a
         where a.shard = {{1}}.shard and a.instance = {{1}}.id
           and a.lease is not null offset 0)

-- fragment: is_due
-- Is there something to be done for it before that time, by nobody yet?
exists (select 1 from pawl.agenda a
         where a.shard = {{1}}.shard and a.instance = {{1}}.id
           and a.lease is null and a.due_at < {{2}} offset 0)

-- fragment: stands_at
-- Does instance {{1}} stand at that node, or has it ended there? One that has
-- forked stands where its tokens do.
({{1}}.node = {{2}}
   and ({{1}}.token_no is not null or {{1}}.completed_at is not null)
 or exists (select 1 from pawl.token k
             where k.shard = {{1}}.shard and k.instance = {{1}}.id
               and k.node = {{2}} and k.state in ('active', 'waiting')
             offset 0))

-- fragment: halts
-- Does a token of instance {{1}} stand at a breakpoint? As it is stored
-- (rules/detail.h); in a text of somebody's such quotes would be escaped.
(strpos({{1}}.token_detail::text, '"halted":') > 0
 or exists (select 1 from pawl.token h
             where h.shard = {{1}}.shard and h.instance = {{1}}.id
               and h.state = 'active'
               and strpos(h.detail::text, '"halted":') > 0 offset 0))

-- fragment: words_of
-- Those of {{1}} that have the word that is asked for; keys apart.
select id from pawl.{{1}}
 where @by = 'parent' and shard = s.shard and parent = @parent
union all
select id from pawl.{{1}}
 where @by = 'correlation' and shard = s.shard
   and correlation = @correlation
union all
select id from pawl.{{1}}
 where @by = 'root' and shard = s.shard and root = @root
union all
select id from pawl.{{1}}
 where @by = 'business_key' and shard = s.shard
   and business_key >= @business_from and business_key < @business_to

-- fragment: told_walk
-- Those that the index {{3}} has, of one value of what it is by.
select {{listed}} from pawl.instance t
       indexed by pawl_instance_{{3}} -- only: sqlite
 where @by = '{{3}}' and t.shard + 0 = s.shard and {{{{3}}_so}} = s.told
   and t.id > @low and t.id < @high and {{2}} and {{is_asked}}
 order by t.id {{1}} limit @max

-- fragment: due_walk
select f.instance, f.due_at
  from (select instance, due_at from pawl.agenda
               indexed by pawl_agenda_due -- only: sqlite
         where shard = s.shard and not ready and lease is null
           and due_at >= @from_at and due_at <= @to_at
           and (due_at, instance) > (@from_at, @from_id)
           and (due_at, instance) < (@to_at, @to_id) and {{2}}
         order by due_at {{1}}, instance {{1}}) f
  {{instance_at s.shard; f.instance}}
 where {{is_asked}}
 order by f.due_at {{1}}, f.instance {{1}} limit @max

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

-- fragment: group_walk
select {{listed}} from pawl.instance t
 where t.shard = s.shard and t.executor_group = @executor_group
   and t.executor_group <> 'default'
   and t.id > @low and t.id < @high and {{2}} and {{is_asked}}
 order by t.id {{1}} limit @max

-- fragment: deleted_walk
select {{listed}}
  from pawl.instance t
       indexed by pawl_instance_deleted -- only: sqlite
 where t.shard + 0 = s.shard and t.deleted_at is not null
   and t.id > @low and t.id < @high and {{2}} and {{is_fitting}}
 order by t.id {{1}} limit @max

-- fragment: archive_columns
-- What an instance and its place in the archive have in common.
shard, id, workflow, version, tenant, priority, executor_group, business_key,
       correlation, key, parent, root, parent_place, started_by, status,
       node, error, cancellation, compensation, created_at,
       started_at, updated_at, completed_at, successor

-- fragment: ended_as_seen
-- An instance that has ended as it was seen to, was not carried away since,
-- and, unless it may be @hidden, not deleted.
shard = @shard and id = s.id and completed_at = s.completed_at
  and status in ('completed', 'failed', 'cancelled') and away is null
  and (deleted_at is null or s.hidden)

-- fragment: keeps_attributes
-- Is instance {{1}} purged but for those? As rules/letters.c notes it: in a
-- text of somebody's such quotes would be escaped.
strpos({{1}}.deletion::text, '"keep_attributes":true') > 0

-- fragment: archived
-- The archive's rows as instances, for lists; when and by whom they were
-- archived stands where others have it of being deleted.
select {{archive_columns}}, deletion, archived_at as deleted_at,
       purged_at as purge_at, null::json as away,
       null::timestamptz as deadline_at,
       null::integer as token_no, null::text as token_state, 0 as attempt,
       null::json as token_detail, null::timestamptz as token_due_at,
       0 as visit
  from pawl.archive

-- fragment: is_whole
(not @whole or t.purge_at is null)

-- fragment: archived_walk
select {{listed}} from ({{archived}}) t
 where {{3}} and t.id > @low and t.id < @high and {{2}} and {{is_whole}}
   and {{is_fitting}}
 order by t.id {{1}} limit @max

-- fragment: unarchived
-- Has the archive neither the id {{1}} nor the key {{2}} of the tenant {{3}}?
not exists (select 1 from pawl.archive a
             where a.shard = @shard and a.id = {{1}} offset 0)
   and ({{2}} is null or not exists (
     select 1 from pawl.archive a
      where a.shard = @shard and a.workflow = @workflow and a.key = {{2}}
        and coalesce(a.tenant, '') = coalesce({{3}}, '')
        and a.successor is null and a.purged_at is null offset 0))

-- fragment: emitted
-- What waits to be published, if {{2}}; behind a place in the order of {{1}}.
select instance, seq, tenant, type, payload, created_at, attempts, due_at,
         error, lease is not null and dead_at is null as leased, dead_at, by,
         reason, {{stands_behind t; s.shard}} as behind
    from pawl.outbox t
   where t.shard = s.shard and {{2}}
     and (@type is null or type = @type)
     and (@emitted_before is null or created_at < @emitted_before)
     and (@after_at is null or ({{1}}, instance, seq)
          > (@after_at, @after_instance, @after_seq))

-- fragment: ending_so
-- Up to two of the `recent` ids that end with what was typed; how many there
-- are, and the oldest.
select e.id, n.seen, n.last
  from (select (select count(*) from recent) as seen,
               (select id from recent order by id limit 1) as last) n
  left join (
  select r.id from recent r
   where right(replace(r.id::text, '-', ''), length(@digits)) -- only: postgres
   where substr(lower(hex(r.id)), -length(@digits)) -- only: sqlite
         = @digits
   limit 2) e on true

-- fragment: history_fits
and (@type is null or type = @type)
   and (@node is null or node = @node)
   and (@by is null or by = @by)
   and (@completed_after is null or completed_at >= @completed_after)
   and (@completed_before is null or completed_at < @completed_before)
   and (not @changing or changes is not null)

-- fragment: audit_deletion
-- Who has deleted the instance, as {{1}} of its own row tells, if {{2}}; once.
insert into pawl.audit (shard, at, id, type, by, instance, workflow, version,
       tenant, text)
select @shard, i.deleted_at, @id, 'deleted', {{1}}->>'by', i.id, i.workflow,
       i.version, i.tenant, coalesce({{1}}->>'reason', '')
  from pawl.instance i
 where i.shard = @shard and i.id = @instance and {{2}}
   and {{1}}->>'by' is not null
   and not exists (select 1 from pawl.audit a
                    where a.shard + 1 = @shard + 1
                      and a.instance = @instance and a.type = 'deleted')

-- fragment: audit_page
-- A page of {{1}}, {{2}} and {{3}}, which are its time, id and number.
and {{1}} >= @since and {{1}} <= @until
   and ({{1}}, {{2}}, {{3}}) < (@until, @before, @before_seq)

-- fragment: audit_history
select h.completed_at as at, h.instance as id, h.seq, h.type, h.by,
       h.instance, t.workflow, t.version, h.node, null::uuid as task, h.text
  from pawl.history h {{instance_at h.shard; h.instance}}
 where {{1}}
   and (@by is null or h.by = @by)
   and (@type is null or h.type = @type)
   and (@workflow is null or t.workflow = @workflow)
   and (@tenant is null or t.tenant = @tenant)
   {{audit_page h.completed_at; h.instance; h.seq}}
 order by h.completed_at desc, h.instance desc, h.seq desc limit @max

-- fragment: audit_starts
select t.created_at as at, t.id, 0 as seq, 'started' as type,
       t.started_by as by, t.id as instance, t.workflow, t.version,
       null::text as node, null::uuid as task, null::text as text
  from pawl.instance t
 where {{1}} and t.started_by is not null
   and (@by is null or t.started_by = @by)
   and (@type is null or @type = 'started')
   and (@workflow is null or t.workflow = @workflow)
   and (@tenant is null or t.tenant = @tenant)
   {{audit_page t.created_at; t.id; 0}}
 order by t.created_at desc, t.id desc limit @max

-- fragment: audit_others
select a.at, a.id, a.seq, a.type, a.by, a.instance, a.workflow, a.version,
       a.node, a.task, a.text
  from pawl.audit a
 where {{1}}
   and (@by is null or a.by = @by)
   and (@type is null or a.type = @type)
   and (@workflow is null or a.workflow = @workflow)
   and (@tenant is null or a.tenant = @tenant)
   {{audit_page a.at; a.id; a.seq}}
 order by a.at desc, a.id desc, a.seq desc limit @max

-- fragment: put_letter
-- One whose key has gone on to another is not to live again: what asks for that
-- finds its agenda row locked until it is seen here. (Said so that no index of
-- those that have a successor seems to serve.)
insert into pawl.inbox (shard, instance, no, kind, event_id, source, by,
       data, received_at)
select @shard, @id, @no, @kind, @event_id, @source, @by, @data, {{now}}
  from pawl.agenda where shard = @shard and instance = @id
   and (@kind not in ('retry', 'restart')
        or not exists (select 1 from pawl.instance
                        where shard = @shard and id = @id
                          and coalesce(successor, id) <> id))

-- fragment: task_fits
-- What a list of tasks may ask for beside what it is found by. What was deleted
-- is hidden with all its tasks, but from who names it.
(@tenant is null or t.tenant = @tenant)
  and (@workflow is null or t.workflow = @workflow)
  and (@node is null or t.node = @node)
  and (@instance is null or t.instance = @instance)
  and (@form is null or t.form = @form)
  and (@priority is null or t.priority = @priority)
  and (@assignee is null or t.assignee = @assignee)
  and (@due_from is null or t.due_at >= @due_from)
  and (@due is null or t.due_at <= @due)
  and (@created_after is null or t.created_at >= @created_after)
  and (@created_before is null or t.created_at < @created_before)
  and (@business_from is null and @key is null and @version is null
       or exists (
    select 1 from (
      select business_key, key, version from pawl.instance
       where shard = t.shard and id = t.instance offset 0) i
     where (@business_from is null or i.business_key >= @business_from
            and i.business_key < @business_to)
       and (@key is null or i.key = @key)
       and (@version is null or i.version = @version)))
  and (@instance is not null or not {{is_hidden t}})

-- fragment: is_hidden
-- Was the instance of the task {{1}} deleted, or is it one that nobody can do
-- here, as that goes on in another store?
exists (select 1 from (
          select away, deleted_at from pawl.instance
           where shard = {{1}}.shard and id = {{1}}.instance offset 0) y
         where y.deleted_at is not null
            or y.away is not null and {{1}}.status in ('pending', 'running'))

-- fragment: is_away
-- Was the instance of the row {{1}} carried to another store?
exists (select 1 from (
          select away from pawl.instance
           where shard = {{1}}.shard and id = {{1}}.instance offset 0) y
         where y.away is not null)

-- fragment: stands_still
-- Was the instance of the row {{1}} carried to another store, or suspended, by
-- itself or with its workflow?
exists (select 1 from (
          select away, status, workflow from pawl.instance
           where shard = {{1}}.shard and id = {{1}}.instance offset 0) y
         where y.away is not null or y.status = 'suspended'
            or {{suspended y.workflow}})

-- fragment: task_pages
-- Of each shard and status a page of those where {{1}}, from either end.
select t.id, t.due_at {{from_each}} (
  select * from ({{task_walk {{1}}; desc; not @up}}) older
  union all
  select * from ({{task_walk {{1}}; asc; @up}}) newer) t

-- fragment: task_walk
-- A page of those that {{1}}, by the index that has the status and the id
-- behind that.
select t.id, t.due_at from pawl.task t
 where t.shard = s.shard and t.status = s.status and {{1}}
   and t.id > @low and t.id < @high and {{3}} and {{task_fits}}
 order by t.id {{2}} limit @max

-- fragment: task_due_walk
-- The same in order of due time, between two places in that.
select t.id, t.due_at from pawl.task t
 where t.shard = s.shard and t.status = s.status
   and t.due_at >= @from_at and t.due_at <= @to_at
   and (t.due_at, t.id) > (@from_at, @from_id)
   and (t.due_at, t.id) < (@to_at, @to_id) and {{2}} and {{task_fits}}
 order by t.due_at {{1}}, t.id {{1}} limit @max

-- fragment: task_fits_page
-- Of few that were found, a page.
t.id > @low and t.id < @high and {{task_fits}}
 order by case when @up then t.id end, t.id desc limit @max

-- fragment: detail_of
-- What the token of the subscription s has kept.
coalesce((
  select t.detail from pawl.token t
   where t.shard = @shard and t.instance = i.id
     and t.no = s.token % 1073741824), i.token_detail)

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

-- fragment: goes_on_sets
-- And of an instance that goes on, but for its status.
{{commit_sets}}, token_no = s.token_no, token_state = s.token_state,
       node = s.node, previous_node = s.previous_node, visit = s.visit,
       attempt = s.attempt, token_due_at = s.token_due_at, error = s.error,
       output = case when i.completed_at is null then i.output end,
       progress = case when s.token_no is null or s.visit = i.progress_visit
                       then i.progress end, completed_at = null,
       started_at = coalesce(i.started_at, s.started_at),
       entered_at = case when i.visit = s.visit then i.entered_at
                         else s.updated_at end,
       updated_at = s.updated_at

-- fragment: attribute_row
(shard, instance, name, type, text_value, date_value, bytes_value,
       float_value, number_value, boolean_value, sortable, updated_at)
select @shard, s.id, s.name, s.type, s.text_value, s.date_value,
       s.bytes_value, s.float_value, s.number_value, s.boolean_value,
       s.sortable,

-- fragment: is_failure
status in ('failed', 'suspended') and error is not null
     and deleted_at is null

-- fragment: has_deadline
deadline_at is not null and completed_at is null

-- fragment: fails_still
exists (select 1 from pawl.instance
         where shard = @shard and id = s.id and {{is_failure}} offset 0)

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

-- fragment: stands_behind
-- Is one before {{1}}, of its instance in shard {{2}}, still to be published?
-- What is settled was at the front then: so the nearest one tells.
coalesce((select p.published_at is null and p.dead_at is null
            from pawl.outbox p
           where p.shard = {{2}} and p.instance = {{1}}.instance
             and p.seq < {{1}}.seq
           order by p.seq desc limit 1), false)

-- fragment: moves_on
-- Is it a row of a token, which has gone on where it has a path; or of somebody
-- who put one elsewhere? What lets several go on names them as a path does.
(attempt is not null or type in ('moved', 'restarted'))
