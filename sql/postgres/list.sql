-- name: list_status
-- args: @shard smallint[], @status text[], @{{asked}}, @{{page}}
-- rows: like list_tenant
-- Those of a stored status: each workflow's, from one workflow to the next in
-- the key of their standings.
select i.* from {{rows}}
 cross join lateral (
  with recursive w (workflow) as (
    (select coalesce(@workflow, (
       select workflow from pawl.standing
        where shard = s.shard order by workflow limit 1)))
    union all
    select (select n.workflow from pawl.standing n
             where n.shard = s.shard and n.workflow > w.workflow
             order by n.workflow limit 1)
      from w where @workflow is null and w.workflow is not null)
  select p.* from w
   cross join lateral (
    select * from ({{status_walk desc; not @up}}) older
    union all
    select * from ({{status_walk asc; @up}}) newer) p
   order by case when @up then p.id end, p.id desc limit @max) i;
