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
  from {{rows}} -- only: postgres
 where not exists (
  select 1 from pawl.workflow w
   where w.code = s.workflow and w.version > s.version and w.current
     and w.active offset 0)
on conflict do nothing;

-- name: instance_triggered
-- args: @shard smallint, @id uuid, @trigger_event text, @trigger_source text
-- Told in the transaction that inserts it.
update pawl.instance
   set trigger_event = @trigger_event, trigger_source = @trigger_source
 where shard = @shard and id = @id and commits = 0;
