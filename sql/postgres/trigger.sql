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
