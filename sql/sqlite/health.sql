-- name: health_workflow
select workflow from pawl_instance indexed by pawl_instance_workflow
 where shard = @shard and workflow > @after
 order by workflow limit 1;
