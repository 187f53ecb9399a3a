-- Who prunes this store now: one row, taken for a while. Not a lock of the
-- session's, which a pooler would pass on, nor of a transaction, as there are
-- many.

-- name: housekeeper_take
-- args: @executor uuid, @host text, @boot text, @space text, @pid bigint,
--       @begun bigint, @dead uuid, @ttl_us bigint, @asked boolean, @now time?
-- rows: place text
-- Also again by who has it, so that it stays his, and from @dead, of whom it is
-- certain. @asked: whether it is due or not.
insert into pawl.housekeeper as h (no, executor, host, boot, space, pid,
       begun, since, expires_at, due_at, place)
values (1, @executor, @host, @boot, @space, @pid, @begun, {{now}},
        {{from_now @ttl_us}}, {{now}}, '')
on conflict (no) do update
  set executor = excluded.executor, host = excluded.host,
      boot = excluded.boot, space = excluded.space, pid = excluded.pid,
      begun = excluded.begun,
      since = case when h.executor = excluded.executor
                    and h.expires_at > {{now}}
                   then h.since else excluded.since end,
      expires_at = excluded.expires_at
  where (h.executor = excluded.executor or h.executor = @dead
         or h.expires_at <= {{now}})
    and (@asked or h.due_at <= {{now}})
returning place;

-- name: housekeeper_leave
-- args: @executor uuid, @pause_us bigint, @place text, @now time?
update pawl.housekeeper
   set expires_at = {{now}}, due_at = {{from_now @pause_us}}, place = @place
 where no = 1 and executor = @executor;

-- name: housekeeper_get
-- args: @now time?
-- rows: executor uuid, host text, boot text, space text, pid bigint,
--       begun bigint, since time, expires_at time
-- Who has it.
select executor, host, boot, space, pid, begun, since, expires_at
  from pawl.housekeeper
 where no = 1 and expires_at > {{now}};
