-- name: counter_fold
-- args: @shard smallint, @before time, @least integer, @max integer
-- rows: kept bigint, folded bigint
-- Where there are so many rows, those that count the same are one again, and
-- what is before that time has no minute any more. So many at least, as fewer
-- could be those that are different. Neighbours may do it at the
-- same time, each with other rows: what is summed up stays the same.
with old as materialized (
  select ctid as place from pawl.counter
   where shard = @shard
     and (select count(*) from (
            select 1 from pawl.counter
             where shard = @shard limit @least) f) >= @least
   limit greatest(@max, @least) for update skip locked
), gone as (
  delete from pawl.counter c using old
   where c.shard = @shard and c.ctid = old.place
  returning workflow, version, was, was_node, status, node, amount,
            case when minute < @before then to_timestamp(0)
                 else minute end as minute
), kept as (
  insert into pawl.counter ({{counter_columns}})
  select @shard, workflow, version, was, was_node, status, node, minute,
         sum(amount)
    from gone
   group by workflow, version, was, was_node, status, node, minute
  returning 1)
select (select count(*) from kept) as kept,
       (select count(*) from gone) as folded;
