-- Executors: running worker processes.

-- name: executor_insert
-- args: @id uuid, @host text, @boot text, @space text, @pid bigint,
--       @begun bigint, @executor_group text, @ttl_us bigint, @now time
insert into pawl.executor (id, host, boot, space, pid, begun, executor_group,
       started_at, active_at, expires_at)
values (@id, @host, @boot, @space, @pid, @begun, @executor_group,
        coalesce(@now, now()), coalesce(@now, now()),
        coalesce(@now, now()) + @ttl_us * interval '1 microsecond')
on conflict do nothing;

-- name: executor_beat
-- args: @id uuid, @ttl_us bigint, @now time
update pawl.executor
   set active_at = coalesce(@now, now()),
       expires_at = coalesce(@now, now()) + @ttl_us * interval '1 microsecond'
 where id = @id;

-- name: executor_stop
-- args: @id uuid, @now time
update pawl.executor set stopped_at = coalesce(@now, now()) where id = @id;

-- name: executor_local
-- args: @host text, @boot text, @space text
-- rows: id uuid, pid bigint, begun bigint
-- Processes of one machine that have not said goodbye.
select id, pid, begun from pawl.executor
 where host = @host and boot = @boot and space = @space
   and stopped_at is null and recovered_at is null;

-- name: executor_recovered
-- args: @id uuid, @now time
update pawl.executor set recovered_at = coalesce(@now, now())
 where id = @id and recovered_at is null;

-- name: executor_fallen
-- args: @boot text
-- rows: id uuid
-- One whose machine went down, or is another: it has said no goodbye.
select id from pawl.executor
 where boot <> @boot and stopped_at is null limit 1;

-- name: executor_prune
-- args: @before time, @max integer
-- Rows of processes long gone, of this host or another.
with gone as materialized (
  select ctid as place from pawl.executor where expires_at < @before
   limit @max for update skip locked)
delete from pawl.executor e using gone where e.ctid = gone.place;
