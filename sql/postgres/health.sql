-- name: health_workflow
-- args: @shard smallint, @after text
-- rows: workflow text
-- The next workflow that has instances.
select workflow from pawl.standing
 where shard = @shard and workflow > @after
 order by workflow limit 1;
