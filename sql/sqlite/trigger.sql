-- name: trigger_match
select t.workflow, w.version, w.executor_group
  from (select workflow from pawl_trigger where pattern = @exact
        union
        select workflow from pawl_trigger where pattern = @wide) t
  join pawl_workflow w on w.code = t.workflow and w.current and w.active
   and w.version = (select max(version) from pawl_workflow
                     where code = t.workflow and current and active)
 order by t.workflow;
