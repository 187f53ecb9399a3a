-- name: inbox_load
-- args: @shard smallint, @id uuid[], @events integer, @others integer
-- rows: instance uuid, no uuid, kind text, name text, key text,
--       event_id text, source text, by text, data json,
--       addressed boolean, received_at time
-- What was not taken yet, in the order in which it came in: the first @others
-- requests, and as many results of children and of people; and the events, of
-- more than @events any that many.
select b.instance, b.no, b.kind, b.name, b.key, b.event_id, b.source,
       b.by, b.data, b.addressed, b.received_at
  from {{rows}} cross join lateral (
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
    order by name, key, received_at, no limit @events)) b
 order by b.instance, b.received_at, b.no;

-- name: inbox_find
-- args: @shard smallint, @no integer[], @id uuid[], @name text[],
--       @prefix text[], @key text[], @after_at time[], @after_no uuid[],
--       @max integer[]
-- rows: instance uuid, no uuid, kind text, name text, key text,
--       event_id text, source text, by text, data json,
--       addressed boolean, received_at time, search integer
-- Of each search, by its number, the first @max events behind those seen that
-- have its name or, one word behind a prefix, its pattern, and fit its key: have
-- it; have none; or, of a search without one, were sent to it with any. For a
-- pattern, first which names there are: each is found behind the last.
select b.*, s.no as search
  from {{rows}}
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
    {{letters_for i.key = s.key; i.received_at}}
    union all
    {{letters_for i.key is null and (i.addressed or s.key is null);
      i.key, i.received_at}}
    union all
    {{letters_for i.key >= '' and i.addressed and s.key is null;
      i.received_at}}) f
   order by f.received_at, f.no limit s.max) b
 order by s.no, b.received_at, b.no;

-- name: inbox_known
-- args: @shard smallint, @id uuid[], @event_id text[]
-- rows: instance uuid, event_id text, created_at time
-- Which of these events came in already, taken or not, or started the
-- instance; and, once for each without an event, when that was. The first in
-- order from the one asked for: the key of the inbox would walk all of it.
select b.instance, b.event_id, null::timestamptz as created_at
  from {{rows}} cross join lateral (
  select instance, kind, event_id from pawl.inbox
   where shard = @shard and event_id is not null
     and (instance, kind, event_id) >= (s.id, 'event', s.event_id)
   order by instance, kind, event_id limit 1) b
 where b.instance = s.id and b.kind = 'event' and b.event_id = s.event_id
 union all
select i.id, case when i.trigger_event is not null
                   and i.key = 'event:' || s.event_id
                  then s.event_id end, i.created_at
  from {{rows}} cross join lateral (
  select id, key, trigger_event, created_at from pawl.instance
   where shard = @shard and id = s.id offset 0) i;

-- name: inbox_keep
-- args: @shard smallint, @id uuid[], @lease uuid[], @latch integer??[],
--       @now time?, @expires_at time
-- The instance ends: the ids of what was sent to it by name stay known among
-- the events, so that whoever repeats one is told so.
insert into pawl.event (shard, tenant, source, id, name, posted, received_at,
       expires_at)
select @shard, '', '', 'to:' || replace(b.instance::text, '-', '') || ':'
       || b.event_id, b.name, true, @now, @expires_at
  from {{rows}} {{lease_guard}}
  cross join lateral (
   select * from pawl.inbox
    where shard = @shard and instance = s.id and kind = 'event'
      and event_id is not null and addressed offset 0) b
on conflict (shard, tenant, source, id) do update
   set expires_at = excluded.expires_at;

-- name: inbox_recall
-- args: @shard smallint, @id uuid[], @lease uuid[], @latch integer??[]
-- One that had completed goes on: what it has taken before is known by its
-- history, and comes in no more.
insert into pawl.inbox (shard, instance, no, kind, event_id, source,
       received_at, taken)
select @shard, s.id, gen_random_uuid(), 'event', b.source || ':' || b.event,
       b.source, b.completed_at, true
  from {{rows}} {{lease_guard}}
  cross join lateral (
   select coalesce(h.sent ->> 'source', '') as source, h.sent ->> 'id' as event,
          h.completed_at
     from (select pawl.as_jsonb(changes) -> 'event' as sent, completed_at
             from pawl.history
            where shard = @shard and instance = s.id and seq > 0
              and type in ('received', 'rescheduled') offset 0) h
    where h.sent ->> 'id' is not null offset 0) b
on conflict do nothing;
