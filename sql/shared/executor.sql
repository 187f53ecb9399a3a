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
