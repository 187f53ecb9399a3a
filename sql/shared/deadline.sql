-- Deadlines of instances that live, to find them by.

-- name: deadline_drop
-- args: @shard smallint, @id uuid[], @lease uuid[], @latch integer??[]
-- Of those that have ended, or have none any more.
delete from pawl.deadline
-- only: postgres
    t using {{short_rows}} {{lease_guard}}
 cross join lateral (
  select ctid as place from pawl.deadline
   where shard = @shard and instance = s.id offset 0) g
 where t.shard = @shard and t.ctid = g.place;
-- only: sqlite
 where shard = @shard and instance = s.id and {{lease_guard}};

-- name: deadline_put
-- args: @shard smallint, @id uuid[], @lease uuid[]
-- Behind what was written of them.
insert into pawl.deadline (shard, instance, deadline_at)
select @shard, i.id, i.deadline_at
  {{from_each}} (
  select id, deadline_at from pawl.instance
   where shard = @shard and id = s.id and lease = s.lease
     and {{has_deadline}} offset 0) i
 where true
on conflict (shard, instance) do update
   set deadline_at = excluded.deadline_at;
