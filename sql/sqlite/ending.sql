-- Children that are asked to end with their parent, until that is done.

-- name: ending_insert
insert into pawl_ending (shard, instance, due_at, tries)
select @shard, id,
       @now + case when executor_group = @executor_group
                   then @grace_us else 0 end, 0
  from pawl_instance
 where shard = @shard and id = @id
   and status in ('running', 'waiting', 'suspended')
on conflict (shard, instance) do update
   set due_at = min(due_at, excluded.due_at), tries = 0;

-- name: ending_next
select exists (
  select 1 from pawl_ending where shard = @shard and due_at <= @now) as due;

-- name: ending_take
-- Without the plus the id is not used to find the agenda's row: all of the
-- shard's would be read, for each.
update pawl_ending
   set tries = min(tries, 62) + 1,
       due_at = @now + @pause_us * (1 << min(tries, 6))
 where shard = @shard and instance in (
  select instance from pawl_ending
   where shard = @shard and due_at <= @now order by due_at limit @max)
returning instance,
          exists (select 1 from (
                   select shard, instance as id, ready, due_at
                     from pawl_agenda) a
                   where a.shard = @shard and a.id = +instance
                     and (a.ready or a.due_at <= @now)) as due;

-- name: ending_done
delete from pawl_ending
 where shard = @shard and instance = @id and tries > 0
   and not exists (
     select 1 from pawl_agenda a
      where a.shard = @shard and a.instance = @id
        and (a.ready or a.lease is not null or a.due_at <= @now));
