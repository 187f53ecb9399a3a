-- Events from outside. A row is committed as not routed, then routed shard by
-- shard; it stays for its lifetime, found by waits that begin later (those
-- with a key) and known again when it is sent twice.

-- name: event_insert
-- args: @shard smallint, @source text, @id text, @name text, @key text,
--       @data json, @came uuid, @ttl_us bigint, @now time
-- Differs: one that has expired makes place for a row with its own number.
insert or replace into pawl_event (shard, source, id, name, key, data, came,
       routed, received_at, expires_at)
select @shard, @source, @id, @name, @key, @data, @came, 0, @now,
       @now + @ttl_us
 where not exists (
  select 1 from pawl_event where shard = @shard and source = @source
     and id = @id and expires_at > @now);

-- name: event_copy
-- args: @shard smallint, @source text, @id text, @name text, @key text,
--       @data json, @came uuid, @received_at time, @expires_at time
-- Differs: as event_insert.
insert or replace into pawl_event (shard, source, id, name, key, data, came,
       routed, received_at, expires_at)
select @shard, @source, @id, @name, @key, @data, @came, 1, @received_at,
       @expires_at
 where not exists (
  select 1 from pawl_event where shard = @shard and source = @source
     and id = @id and expires_at > @received_at);

-- name: event_get
-- args: @shard smallint, @source text, @id text
-- rows: name text, key text, data json, came uuid, routed boolean,
--       received_at time, expires_at time
select name, key, data, came, routed, received_at, expires_at from pawl_event
 where shard = @shard and source = @source and id = @id;

-- name: event_routed
-- args: @shard smallint, @source text, @id text, @forget boolean
update pawl_event
   set routed = 1, key = case when @forget then null else key end,
       data = case when @forget then null else data end
 where shard = @shard and source = @source and id = @id and not routed;

-- name: event_unrouted
-- args: @shard smallint, @age_us bigint, @now time, @max integer
-- rows: source text, id text
select source, id from pawl_event
 where shard = @shard and not routed and received_at <= @now - @age_us
 order by received_at limit @max;

-- name: event_prune
-- args: @shard smallint, @now time, @max integer
delete from pawl_event
 where rowid in (
  select rowid from pawl_event
   where shard = @shard and expires_at <= @now and routed
   order by expires_at limit @max);

-- name: event_find
-- args: @shard smallint, @no integer[], @key text[], @name text[],
--       @prefix text[], @after_at time[], @after_came uuid[],
--       @late_at time[], @late_came uuid[], @since bigint[],
--       @max integer[], @now time
-- rows: no integer, source text, id text, name text, key text, data json,
--       came uuid, received_at time, horizon bigint
-- Differs: one writes at a time, and each row has a higher number.
select @no as no, source, id, name, key, data, came, received_at,
       (select max(ord) + 1 from pawl_event) as horizon
  from (
   select * from (
    select * from pawl_event indexed by pawl_event_came
     where shard = @shard and key = @key
       and (received_at, came) >= (@after_at, @after_came)
       and (name = @name
            or (substr(name, 1, length(@prefix)) = @prefix
                and instr(substr(name, length(@prefix) + 1), '.') = 0))
       and expires_at > @now
     order by received_at, came limit @max)
   union all
   select * from (
    select * from pawl_event indexed by pawl_event_late
     where shard = @shard and key = @key and ord >= @since
       and (received_at, came) >= (@late_at, @late_came)
       and (received_at, came) < (@after_at, @after_came)
       and (name = @name
            or (substr(name, 1, length(@prefix)) = @prefix
                and instr(substr(name, length(@prefix) + 1), '.') = 0))
       and expires_at > @now
     order by received_at, came limit @max)
)
 order by received_at, came limit @max;
