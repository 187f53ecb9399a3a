-- name: repair_live
-- A page of the instances of a version that may go on, in the order of their
-- ids: unfinished ones, and those that have failed and tell where they stood.
select * from (
  {{live_in 'running'; null}}
   order by t.id limit @max)
union all select * from (
  {{live_in 'waiting'; null}}
   order by t.id limit @max)
union all select * from (
  {{live_in 'suspended'; null}}
   order by t.id limit @max)
union all select * from (
  {{live_in 'failed'; t.stopped}} and t.stopped is not null
   order by t.id limit @max)
 order by id limit @max;
