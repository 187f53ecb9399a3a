-- Events from outside. A row is committed as not posted, then posted shard by
-- shard; it stays for its lifetime, found by waits that begin later (those
-- with a key) and known again when it is sent twice.

-- name: event_get
-- args: @shard smallint, @tenant text, @source text, @id text
-- rows: name text, key text, data json, by text, came uuid, posted boolean,
--       received_at time, expires_at time
select name, key, data, by, came, posted, received_at, expires_at
  from pawl.event
 where shard = @shard and tenant = @tenant and source = @source and id = @id;

-- name: event_posted
-- args: @shard smallint, @tenant text, @source text, @id text,
--       @forget boolean
-- One that is not looked for here again is only known: no key, no data. Spelled
-- so that the index of those that are not posted does not fit.
update pawl.event
   set posted = true, key = case when @forget then null else key end,
       data = case when @forget then null else data end,
       by = case when @forget then null else by end
 where shard = @shard and tenant = @tenant and source = @source and id = @id
   and coalesce(not posted, false); -- only: postgres
   and not posted; -- only: sqlite

-- name: event_take
-- args: @shard smallint, @tenant text, @source text, @id text,
--       @taker uuid, @now time?
-- One that takes it for all that would: changes nothing when another has, or it
-- has expired.
update pawl.event set taker = @taker, assigned_at = null
 where shard = @shard and tenant = @tenant and source = @source and id = @id
   and (taker is null or taker = @taker)
   and expires_at > coalesce(@now, now()); -- only: postgres
   and expires_at > @now; -- only: sqlite

-- name: event_unposted
-- args: @shard smallint, @age_us bigint, @now time?, @max integer
-- rows: tenant text, source text, id text
-- Left behind by a process that died.
select tenant, source, id from pawl.event
 where shard = @shard and not posted and received_at <= {{from_now -@age_us}}
 order by received_at limit @max;

-- name: event_assign
-- args: @shard smallint, @tenant text, @source text, @id text, @now time?,
--       @over boolean, @anew boolean
-- Before it is assigned to one of those that wait; or @over: there is none,
-- and who becomes free looks for it. @anew: the intervals begin again.
update pawl.event
   set assigned_at = case when @over then null else {{now}} end,
       assigned_from = case when @over then null
                            when @anew then {{now}}
                            else coalesce(assigned_from, {{now}}) end
 where shard = @shard and tenant = @tenant and source = @source and id = @id
   and taker is null;

-- name: event_assigned
-- args: @shard smallint, @age_us bigint, @most_us bigint, @now time?,
--       @max integer
-- rows: tenant text, source text, id text
-- Those that nobody has taken for so long, and then for as long as it has been
-- assigned to some, or that at the most: who has them may be behind with its
-- work.
select tenant, source, id from pawl.event
 where shard = @shard and assigned_at <= {{from_now -@age_us}}
   and assigned_at is not null
   and (assigned_at <= {{from_now -@most_us}}
        or {{now}} - assigned_at >= assigned_at - assigned_from)
 order by assigned_at limit @max;

-- name: event_assigned_first
-- args: @shard smallint
-- rows: assigned_at time
select min(assigned_at) as assigned_at from pawl.event
 where shard = @shard and assigned_at is not null;
