-- Differs: a status has indexes here, one for all workflows, one for each.

-- name: list_status
select * from ({{status_walk desc; not @up; @workflow is null}}) older
union all
select * from ({{status_walk asc; @up; @workflow is null}}) newer
union all
select * from (
  {{status_walk desc; not @up; t.workflow = @workflow}}) older_of_one
union all
select * from (
  {{status_walk asc; @up; t.workflow = @workflow}}) newer_of_one;
