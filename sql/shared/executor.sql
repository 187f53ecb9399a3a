-- Executors: running worker processes.

-- name: executor_insert
-- args: @id uuid, @host text, @boot text, @space text, @pid bigint,
--       @begun bigint, @executor_group text, @ttl_us bigint, @now time?
insert into pawl.executor (id, host, boot, space, pid, begun, executor_group,
       started_at, active_at, expires_at)
values (@id, @host, @boot, @space, @pid, @begun, @executor_group,
        {{now}}, {{now}},
        {{from_now @ttl_us}})
on conflict do nothing;

-- name: executor_beat
-- args: @id uuid, @ttl_us bigint, @now time?
update pawl.executor
   set active_at = {{now}},
       expires_at = {{from_now @ttl_us}}
 where id = @id;

-- name: executor_stop
-- args: @id uuid, @now time?
update pawl.executor set stopped_at = {{now}} where id = @id;

-- name: executor_local
-- args: @host text, @boot text, @space text
-- rows: id uuid, pid bigint, begun bigint
-- Processes of one machine that have not said goodbye.
select id, pid, begun from pawl.executor
 where host = @host and boot = @boot and space = @space
   and stopped_at is null and recovered_at is null;

-- name: executor_recovered
-- args: @id uuid, @now time?
update pawl.executor set recovered_at = {{now}}
 where id = @id and recovered_at is null;

-- name: executor_fallen
-- args: @boot text
-- rows: id uuid
-- One whose machine went down, or is another: it has said no goodbye.
select id from pawl.executor
 where boot <> @boot and stopped_at is null limit 1;

-- name: executor_list
-- args: @all boolean, @executor_group text, @now time?, @max integer
-- rows: id uuid, alive boolean, host text, pid bigint,
--       executor_group text, started_at time, active_at time,
--       expires_at time, stopped_at time, recovered_at time
-- Those that live, or all that are known; the youngest first.
select e.* from (
  select id, stopped_at is null and recovered_at is null
         and expires_at > {{now}} as alive, host, pid, executor_group,
         started_at, active_at, expires_at, stopped_at, recovered_at
    from pawl.executor) e
 where (@all or alive)
   and (@executor_group is null or executor_group = @executor_group)
 order by started_at desc, id desc limit @max;

-- name: executor_leases
-- args: @shard smallint[], @horizon_us bigint, @now time?
-- rows: executor uuid, held bigint
-- How much each holds. No lease is longer than the horizon, so that later rows
-- need not be read.
select l.* {{from_each}} (
  select executor, count(*) as held from pawl.agenda t
   where t.shard = s.shard and not ready and lease is not null
     and due_at <= {{from_now @horizon_us}}
   group by executor) l;
