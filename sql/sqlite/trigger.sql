-- Which events start instances of a workflow.

-- name: trigger_clear
-- args: @workflow text, @version integer
delete from pawl_trigger where workflow = @workflow and version <= @version;

-- name: trigger_put
-- args: @pattern text[], @workflow text[], @version integer[]
insert into pawl_trigger (pattern, workflow, version)
select @pattern, @workflow, @version
 where not exists (
  select 1 from pawl_workflow w
   where w.code = @workflow and w.version > @version and w.current
     and w.active)
on conflict do nothing;

-- name: trigger_match
-- args: @exact text, @wide text
-- rows: workflow text, version integer, executor_group text
select t.workflow, w.version, w.executor_group
  from (select workflow from pawl_trigger where pattern = @exact
        union
        select workflow from pawl_trigger where pattern = @wide) t
  join pawl_workflow w on w.code = t.workflow and w.current and w.active
   and w.version = (select max(version) from pawl_workflow
                     where code = t.workflow and current and active)
 order by t.workflow;

-- name: instance_triggered
-- args: @shard smallint, @id uuid, @trigger_event text
update pawl_instance set trigger_event = @trigger_event
 where shard = @shard and id = @id and version = 0;
