-- The inbox: the only way in. The agenda row is locked first (agenda_wake).

-- name: inbox_insert
-- args: @shard smallint, @id uuid, @no uuid, @kind text, @event_id text,
--       @source text, @caller text, @data json, @now time
-- Nothing is put into an instance that has ended.
insert into pawl.inbox (shard, instance, no, kind, event_id, source, caller,
       data, received_at)
select @shard, @id, @no, @kind, @event_id, @source, @caller, @data,
       coalesce(@now, now())
  from pawl.agenda where shard = @shard and instance = @id
on conflict do nothing;

-- name: inbox_insert_again
-- args: @shard smallint, @id uuid, @no uuid, @kind text, @event_id text,
--       @source text, @caller text, @data json, @now time
-- The same when the answer was lost: not if somebody has taken the first one,
-- of which a row of history tells. Who did so has committed before the agenda
-- row's lock was had.
insert into pawl.inbox (shard, instance, no, kind, event_id, source, caller,
       data, received_at)
select @shard, @id, @no, @kind, @event_id, @source, @caller, @data,
       coalesce(@now, now())
  from pawl.agenda
 where shard = @shard and instance = @id
   and not exists (select 1 from pawl.history
                    where shard = @shard and instance = @id
                      and request = @no)
on conflict do nothing;

-- name: inbox_insert_many
-- args: @shard smallint, @id uuid[], @no uuid[], @name text, @key text,
--       @event_id text, @source text, @caller text, @data json,
--       @addressed boolean, @received_at time, @now time
-- One event into many inboxes, once into each, and not into that of what it
-- has started. Under the agenda rows' locks it is seen anew which instances
-- have ended meanwhile.
insert into pawl.inbox (shard, instance, no, kind, name, key, event_id,
       source, caller, data, addressed, received_at)
select @shard, s.id, s.no, 'event', @name, @key, @event_id, @source, @caller,
       @data, @addressed, coalesce(@received_at, @now, now())
  from unnest(@id, @no) as s (id, no)
 cross join lateral (
  select 1 from pawl.instance
   where shard = @shard and id = s.id
     and status in ('running', 'waiting', 'suspended')
     and (trigger_event is null or external_id <> 'event:' || @event_id)
     offset 0) alive
on conflict do nothing;

-- name: inbox_load
-- args: @shard smallint, @id uuid[], @events integer, @others integer
-- rows: instance uuid, no uuid, kind text, name text, key text,
--       event_id text, source text, caller text, data json,
--       addressed boolean, received_at time
-- What was not taken yet, in the order in which it came in: the first @others
-- requests, and as many results of children and of people; and the events, of
-- more than @events any that many.
select b.instance, b.no, b.kind, b.name, b.key, b.event_id, b.source,
       b.caller, b.data, b.addressed, b.received_at
  from unnest(@id) as s (id) cross join lateral (
  (select * from pawl.inbox
    where shard = @shard and instance = s.id and not taken
      and kind not in ('event', 'child', 'task')
    order by received_at, no limit @others)
  union all
  (select * from pawl.inbox
    where shard = @shard and instance = s.id and kind = 'child' and not taken
    order by received_at, no limit @others)
  union all
  (select * from pawl.inbox
    where shard = @shard and instance = s.id and kind = 'task' and not taken
    order by received_at, no limit @others)
  union all
  (select * from pawl.inbox
    where shard = @shard and instance = s.id and kind = 'event' and not taken
    order by name, received_at, no limit @events)) b
 order by b.instance, b.received_at, b.no;

-- name: inbox_find
-- args: @shard smallint, @no integer[], @id uuid[], @name text[],
--       @prefix text[], @key text[], @after_at time[], @after_no uuid[],
--       @max integer[]
-- rows: instance uuid, no uuid, kind text, name text, key text,
--       event_id text, source text, caller text, data json,
--       addressed boolean, received_at time, search integer
-- Of each search, by its number, the first @max events behind those seen that
-- have its name or, one word behind a prefix, its pattern, and fit its key. For
-- a pattern, first which names there are: each is found behind the last.
select b.*, s.no as search
  from unnest(@no, @id, @name, @prefix, @key, @after_at, @after_no, @max)
       as s (no, id, name, prefix, key, after_at, after_no, max)
 cross join lateral (
  with recursive names (name) as (
    (select i.name from pawl.inbox i
      where i.shard = @shard and i.instance = s.id and i.kind = 'event'
        and not i.taken and i.name >= s.prefix
      order by i.name limit 1)
    union all
    select (select i.name from pawl.inbox i
             where i.shard = @shard and i.instance = s.id and i.kind = 'event'
               and not i.taken and i.name > n.name
             order by i.name limit 1)
      from names n where left(n.name, length(s.prefix)) = s.prefix)
  select f.* from (
    select s.name
    union all
    select n.name from names n
     where left(n.name, length(s.prefix)) = s.prefix
       and strpos(substr(n.name, length(s.prefix) + 1), '.') = 0) w (name)
   cross join lateral (
    select i.instance, i.no, i.kind, i.name, i.key, i.event_id, i.source,
           i.caller, i.data, i.addressed, i.received_at
      from pawl.inbox i
     where i.shard = @shard and i.instance = s.id and i.kind = 'event'
       and not i.taken and i.name = w.name
       and (i.received_at, i.no) > (s.after_at, s.after_no)
       and (i.key = s.key or (i.key is null and s.key is null)
            or (i.addressed and (i.key is null or s.key is null)))
     order by i.received_at, i.no limit s.max) f
   order by f.received_at, f.no limit s.max) b
 order by s.no, b.received_at, b.no;

-- name: inbox_known
-- args: @shard smallint, @id uuid[], @event_id text[]
-- rows: instance uuid, event_id text, created_at time
-- Which of these events came in already, taken or not, or started the
-- instance; and, once for each without an event, when that was. The first in
-- order from the one asked for: the key of the inbox would walk all of it.
select b.instance, b.event_id, null::timestamptz as created_at
  from unnest(@id, @event_id) as s (id, event_id) cross join lateral (
  select instance, kind, event_id from pawl.inbox
   where shard = @shard and event_id is not null
     and (instance, kind, event_id) >= (s.id, 'event', s.event_id)
   order by instance, kind, event_id limit 1) b
 where b.instance = s.id and b.kind = 'event' and b.event_id = s.event_id
 union all
select i.id, case when i.trigger_event is not null
                   and i.external_id = 'event:' || s.event_id
                  then s.event_id end, i.created_at
  from unnest(@id, @event_id) as s (id, event_id) cross join lateral (
  select id, external_id, trigger_event, created_at from pawl.instance
   where shard = @shard and id = s.id offset 0) i;

-- name: inbox_cancel
-- args: @shard smallint, @id uuid
-- rows: kind text
-- Is it asked to end? In the order of the index of requests, as elsewhere: the
-- key's would walk all events of the instance.
select kind from pawl.inbox
 where shard = @shard and instance = @id and not taken
   and kind not in ('event', 'child', 'task') and kind in ('cancel', 'kill')
 order by received_at, no limit 1;

-- name: inbox_take
-- args: @shard smallint, @id uuid[], @no uuid[], @lease uuid[],
--       @latch integer[], @kind text[], @name text[], @key text[],
--       @event_id text[], @source text[], @data json[],
--       @received_at time[]
-- Events that were taken: from the inbox, where their rows stay as a mark, or
-- found waiting for a key. Their ids are the same wherever they came from.
insert into pawl.inbox (shard, instance, no, kind, name, key, event_id,
       source, data, received_at, taken)
select @shard, s.id, s.no, s.kind, s.name, s.key, s.event_id, s.source,
       s.data, s.received_at, true
  from unnest(@id, @no, @lease, @latch, @kind, @name, @key, @event_id, @source,
              @data, @received_at)
       as s (id, no, lease, latch, kind, name, key, event_id, source, data,
             received_at)
  cross join lateral (
   select 1 from pawl.agenda a
    where a.shard = @shard and a.instance = s.id and a.lease = s.lease
      and (s.latch is null or a.latch = s.latch) offset 0) held
on conflict (shard, instance, kind, event_id) where event_id is not null
   do update set taken = true;

-- name: inbox_keep
-- args: @shard smallint, @id uuid[], @lease uuid[], @latch integer[],
--       @now time, @expires_at time
-- The instance ends: the ids of what was sent to it by name stay known among
-- the events, so that whoever repeats one is told so.
insert into pawl.event (shard, source, id, name, routed, received_at,
       expires_at)
select @shard, '', 'to:' || replace(b.instance::text, '-', '') || ':'
       || b.event_id, b.name, true, @now, @expires_at
  from unnest(@id, @lease, @latch) as s (id, lease, latch)
  cross join lateral (
   select 1 from pawl.agenda a
    where a.shard = @shard and a.instance = s.id and a.lease = s.lease
      and (s.latch is null or a.latch = s.latch) offset 0) held
  cross join lateral (
   select * from pawl.inbox
    where shard = @shard and instance = s.id and kind = 'event'
      and event_id is not null and addressed offset 0) b
on conflict (shard, source, id) do update
   set expires_at = excluded.expires_at;

-- name: inbox_clear
-- args: @shard smallint, @id uuid[], @lease uuid[], @latch integer[],
--       @revives boolean[]
-- The instance ends: nobody will read it. One that may go on (@revives, it has
-- failed) keeps its events: those that it has taken, not to take them again,
-- and those that it has not, all of them and in their order, to take them then.
delete from pawl.inbox b
 using (select * from unnest(@id, @lease, @latch, @revives)
               as s (id, lease, latch, revives) limit cardinality(@id)) s
  cross join lateral (
   select 1 from pawl.agenda a
    where a.shard = @shard and a.instance = s.id and a.lease = s.lease
      and (s.latch is null or a.latch = s.latch) offset 0) held
  cross join lateral (
   select ctid as place from pawl.inbox
    where shard = @shard and instance = s.id
      and (kind <> 'event' or not s.revives) offset 0) g
 where b.shard = @shard and b.ctid = g.place;

-- name: inbox_delete
-- args: @shard smallint, @id uuid[], @no uuid[], @lease uuid[],
--       @latch integer[]
delete from pawl.inbox b
 using (select * from unnest(@id, @no, @lease, @latch)
               as s (id, no, lease, latch) limit cardinality(@id)) s
  cross join lateral (
   select 1 from pawl.agenda a
    where a.shard = @shard and a.instance = s.id and a.lease = s.lease
      and (s.latch is null or a.latch = s.latch) offset 0) held
  cross join lateral (
   select ctid as place from pawl.inbox
    where shard = @shard and instance = s.id and no = s.no offset 0) g
 where b.shard = @shard and b.ctid = g.place;

-- name: inbox_get
-- args: @shard smallint, @id uuid, @no uuid
-- rows: kind text
-- Has it been dealt with? Then it is not there.
select kind from (
  select kind, taken from pawl.inbox
   where shard = @shard and instance = @id and no = @no offset 0) b
 where not taken;
