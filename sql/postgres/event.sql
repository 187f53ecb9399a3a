-- name: event_insert
-- args: @shard smallint, @tenant text, @source text, @id text,
--       @name text, @key text, @data json, @by text, @came uuid,
--       @ttl_us bigint, @now time?
-- An id that is kept already is not taken again, nor changed.
insert into pawl.event as e (shard, tenant, source, id, name, key, data,
       by, came, posted, received_at, expires_at)
values (@shard, @tenant, @source, @id, @name, @key, @data, @by, @came, false,
        coalesce(@now, now()),
        {{from_now @ttl_us}})
on conflict (shard, tenant, source, id) do update
   set name = excluded.name, key = excluded.key, data = excluded.data,
       by = excluded.by, came = excluded.came,
       posted = false, received_at = excluded.received_at, ord = excluded.ord,
       expires_at = excluded.expires_at, taker = null, assigned_at = null,
       assigned_from = null
 where e.expires_at <= excluded.received_at;

-- name: event_copy
-- args: @shard smallint, @tenant text, @source text, @id text,
--       @name text, @key text, @data json, @by text, @came uuid,
--       @received_at time, @expires_at time
-- Where its key's events are, when that is another shard than its id's.
insert into pawl.event as e (shard, tenant, source, id, name, key, data,
       by, came, posted, received_at, expires_at)
values (@shard, @tenant, @source, @id, @name, @key, @data, @by, @came, true,
        @received_at, @expires_at)
on conflict (shard, tenant, source, id) do update
   set name = excluded.name, key = excluded.key, data = excluded.data,
       by = excluded.by, came = excluded.came,
       received_at = excluded.received_at, expires_at = excluded.expires_at,
       ord = excluded.ord, taker = null, assigned_at = null,
       assigned_from = null
 where e.expires_at <= excluded.received_at;

-- name: event_prune
-- args: @shard smallint, @now time?, @max integer
with gone as materialized (
  select ctid as place from pawl.event
   where shard = @shard and expires_at <= coalesce(@now, now()) and posted
   order by expires_at limit @max for update skip locked)
delete from pawl.event e
 using gone
 where e.shard = @shard and e.ctid = gone.place;

-- name: event_find
-- args: @shard smallint, @no integer[], @tenant text[], @key text[],
--       @name text[], @prefix text[], @after_at time[], @after_came uuid[],
--       @late_at time[], @late_came uuid[], @since bigint??[],
--       @taker uuid[], @max integer[], @now time?
-- rows: no integer, source text, id text, name text, key text, data json,
--       by text, came uuid, received_at time, horizon bigint
-- For waits that begin later: events with their key, and their name or, one
-- word behind a prefix, their pattern; oldest first, from @after on. And, when
-- @since is given, those from @late to @after that were written since then, as
-- they were not to be seen when the others were; but none that another one has
-- taken, when @taker takes one for all. All that is written before
-- the horizon is seen now. (0029)
-- The second is spelled so that the index by time does not fit: neither its
-- range nor its order.
select s.no, v.source, v.id, v.name, v.key, v.data, v.by, v.came,
       v.received_at,
       pg_snapshot_xmin(pg_current_snapshot())::text::bigint as horizon
  from {{rows}}
 cross join lateral (
  (select * from pawl.event e
    where e.shard = @shard and e.tenant = s.tenant and e.key = s.key
      and (e.received_at, e.came) >= (s.after_at, s.after_came)
      and {{name_fits}}
    order by e.received_at, e.came limit s.max)
  union all
  (select * from pawl.event e
    where e.shard = @shard and e.tenant = s.tenant and e.key = s.key
      and e.ord >= s.since
      and coalesce((e.received_at, e.came) >= (s.late_at, s.late_came)
                   and (e.received_at, e.came) < (s.after_at, s.after_came),
                   false)
      and {{name_fits}} offset 0)
  order by received_at, came limit s.max) v
 order by s.no, v.received_at, v.came;
