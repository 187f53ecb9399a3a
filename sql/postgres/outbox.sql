-- name: outbox_claim
-- args: @shard smallint, @lease uuid, @lease_us bigint, @walk integer,
--       @max integer, @now time?
-- rows: instance uuid, seq bigint
-- Fronts that are due, under a lease. Whoever died of one has tried it.
with due as materialized ({{outbox_due}}),
fronts as materialized (
  select l.place from due d cross join lateral (
    select ctid as place from pawl.outbox t
     where t.shard = @shard and t.ctid = d.place and published_at is null
       and due_at <= coalesce(@now, now()) and not {{stands_behind d; @shard}}
       for update skip locked) l
   limit @max)
update pawl.outbox o
   set lease = @lease, due_at = {{from_now @lease_us}},
       attempts = o.attempts + (o.lease is not null)::integer
  from fronts f where o.shard = @shard and o.ctid = f.place
returning o.instance, o.seq;

-- name: outbox_park
-- args: @shard smallint, @walk integer, @now time?
-- What stands behind another among those that a claim walks, once they are all
-- that it walks. Under the lock of the row before: who settles that one comes
-- before, and it is not put off, or behind, and finds it so.
with due as materialized ({{outbox_due}}),
behind as materialized (
  select d.place from due d
   cross join lateral (
    select ctid as place from pawl.outbox
     where shard = @shard and instance = d.instance and seq < d.seq
     order by seq desc limit 1) p
   cross join lateral (
    select 1 from pawl.outbox b
     where b.shard = @shard and b.ctid = p.place and published_at is null
       and dead_at is null for update skip locked) b
   where (select count(*) from due) >= @walk)
update pawl.outbox o set due_at = {{never}}
  from behind b where o.shard = @shard and o.ctid = b.place;

-- name: outbox_lock
-- args: @shard smallint, @instance uuid[], @seq bigint[], @upto bigint[],
--       @lease uuid[]
-- Fronts (@seq) under these leases, and what is behind them up to @upto. In the
-- order of ids: nobody else who waits for such locks has others of them.
select 1 from {{outbox_rows}}
 cross join lateral (
  select 1 from pawl.outbox t
   where t.shard = @shard and t.instance = s.instance and t.seq >= s.seq
     and t.seq <= greatest(s.upto, s.seq)
     and exists (select from pawl.outbox f
                  where f.shard = @shard and f.instance = s.instance
                    and f.seq = s.seq and f.lease = s.lease offset 0)
   order by t.seq for update) t;

-- name: outbox_publish
-- args: @shard smallint, @instance uuid[], @seq bigint[], @upto bigint[],
--       @lease uuid[], @now time?
-- rows: instance uuid
-- They were accepted. The lease stays: by that it is known who did it.
update pawl.outbox o
   set published_at = coalesce(@now, now()), lease = g.lease
  from (select g.place, s.lease from {{outbox_rows}}
   cross join lateral (
    select ctid as place, published_at from pawl.outbox t
     where t.shard = @shard and t.instance = s.instance and t.seq >= s.seq
       and t.seq <= s.upto
       and exists (select from pawl.outbox f
                    where f.shard = @shard and f.instance = s.instance
                      and f.seq = s.seq and f.lease = s.lease offset 0)
     offset 0) g
   where g.published_at is null) g
 where o.shard = @shard and o.ctid = g.place
returning o.instance;

-- name: outbox_pass
-- args: @shard smallint, @instance uuid[], @after bigint[], @lease uuid[],
--       @keep uuid[], @for_us bigint[], @attempts integer??[], @error text[],
--       @dead boolean[], @now time?
-- rows: instance uuid
-- What is behind the row @after is the front now: it is due in @for_us, under
-- the lease @keep, or dead. Only when that row was settled under @lease, or
-- when the front itself is under it.
update pawl.outbox o
   set lease = g.keep,
       due_at = case when g.dead then {{never}}
                     else {{from_now g.for_us}} end,
       attempts = coalesce(g.attempts, o.attempts),
       error = coalesce(g.error, o.error),
       dead_at = case when g.dead then coalesce(@now, now()) end
  from (select g.place, s.keep, s.for_us, s.attempts, s.error, s.dead
    from {{outbox_rows}}
   cross join lateral (
    select ctid as place, published_at, dead_at, lease from pawl.outbox t
     where t.shard = @shard and t.instance = s.instance and t.seq > s.after
     order by t.seq limit 1) g
   where g.published_at is null and g.dead_at is null
     and (g.lease = s.lease
          or g.lease is null
             and exists (select from pawl.outbox f
                          where f.shard = @shard and f.instance = s.instance
                            and f.seq = s.after and f.lease = s.lease
                            and (f.published_at is not null
                                 or f.dead_at is not null) offset 0))) g
 where o.shard = @shard and o.ctid = g.place
returning o.instance;

-- name: outbox_retry
-- args: @shard smallint, @instance uuid[], @seq bigint[], @by text,
--       @reason text, @now time?
-- rows: instance uuid, seq bigint
-- What is dead, or was tried in vain, is due now, as if it were new. So who
-- asks for the same as another changes nothing.
update pawl.outbox o
   set due_at = coalesce(@now, now()), dead_at = null, lease = null,
       attempts = 0, by = @by, reason = @reason
  from (select g.place from {{outbox_rows}} cross join lateral {{outbox_row}} g
   where g.published_at is null
     and (g.dead_at is not null
          or g.lease is null and g.attempts > 0 and g.due_at < {{never}})) g
 where o.shard = @shard and o.ctid = g.place
returning o.instance, o.seq;

-- name: outbox_drop
-- args: @shard smallint, @instance uuid[], @seq bigint[], @lease uuid,
--       @by text, @reason text, @now time?
-- rows: like outbox_retry
-- What is dead, or is the front and nobody has it, will not be published.
update pawl.outbox o
   set published_at = coalesce(@now, now()),
       dead_at = coalesce(o.dead_at, @now, now()), lease = @lease,
       by = @by, reason = @reason
  from (select g.place from {{outbox_rows}} cross join lateral {{outbox_row}} g
   where g.published_at is null
     and (g.dead_at is not null
          or (g.lease is null or g.due_at <= coalesce(@now, now()))
             and not {{stands_behind s; @shard}})) g
 where o.shard = @shard and o.ctid = g.place
returning o.instance, o.seq;
