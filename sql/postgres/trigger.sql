-- Which events start instances of a workflow.

-- name: trigger_clear
-- args: @workflow text, @version integer
-- A version's triggers replace those of older ones, also when it has none.
delete from pawl.trigger where workflow = @workflow and version <= @version;

-- name: trigger_put
-- args: @pattern text[], @workflow text[], @version integer[]
-- An older version that is registered late leaves the newest one's alone.
insert into pawl.trigger (pattern, workflow, version)
select s.pattern, s.workflow, s.version
  from unnest(@pattern, @workflow, @version) as s (pattern, workflow, version)
 where not exists (
  select 1 from pawl.workflow w
   where w.code = s.workflow and w.version > s.version and w.current
     and w.active offset 0)
on conflict do nothing;

-- name: trigger_match
-- args: @exact text, @wide text
-- rows: workflow text, version integer, executor_group text
-- With the version that is to run, the newest active one, and the group of the
-- workers that brought it.
select t.workflow, w.version, w.executor_group
  from (select workflow from pawl.trigger where pattern = @exact
        union
        select workflow from pawl.trigger where pattern = @wide) t
 cross join lateral (
  select version, executor_group from pawl.workflow
   where code = t.workflow and current and active
   order by version desc limit 1) w
 order by t.workflow;

-- name: instance_triggered
-- args: @shard smallint, @id uuid, @trigger_event text
-- Told in the transaction that inserts it.
update pawl.instance set trigger_event = @trigger_event
 where shard = @shard and id = @id and version = 0;
