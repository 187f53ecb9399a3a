-- The inbox: the only way in. The agenda row is locked first (agenda_wake).

-- name: inbox_insert
-- args: @shard smallint, @id uuid, @no uuid, @kind text, @event_id text,
--       @source text, @by text, @data json, @now time?
-- Nothing is put into an instance that has ended.
{{put_letter}}
on conflict do nothing;

-- name: inbox_insert_again
-- args: like inbox_insert
-- The same when the answer was lost: not if somebody has taken the first one,
-- of which a row of history tells. Who did so has committed before the agenda
-- row's lock was had.
{{put_letter}}
   and not exists (select 1 from pawl.history
                    where shard = @shard and instance = @id
                      and request = @no)
on conflict do nothing;

-- name: inbox_insert_many
-- args: @shard smallint, @id uuid[], @no uuid[], @name text, @key text,
--       @event_id text, @source text, @by text, @data json,
--       @addressed boolean, @received_at time?, @now time?
-- One event into many inboxes, once into each, and not into that of what it
-- has started. Under the agenda rows' locks it is seen anew which instances
-- have ended meanwhile.
insert into pawl.inbox (shard, instance, no, kind, name, key, event_id,
       source, by, data, addressed, received_at)
select @shard, s.id, s.no, 'event', @name, @key, @event_id, @source, @by,
       @data, @addressed, coalesce(@received_at, {{now}})
  {{from_each}} (
  select 1 from pawl.instance
   where shard = @shard and id = s.id
     and status in ('running', 'waiting', 'suspended')
     and (trigger_event is null or key <> 'event:' || @event_id)
     offset 0) alive
 where true
on conflict do nothing;

-- name: inbox_cancel
-- args: @shard smallint, @id uuid
-- rows: kind text
-- Is it asked to end? In the order of the index of requests, as elsewhere: the
-- key's would walk all events of the instance.
select kind from pawl.inbox
 where shard = @shard and instance = @id and not taken
   and kind not in ('event', 'child', 'task')
   and kind in ('cancel', 'kill', 'delete')
 order by received_at, no limit 1;

-- name: inbox_revive
-- args: @shard smallint, @id uuid
-- rows: kind text
-- Is one that has ended asked to go on?
select kind from pawl.inbox
 where shard = @shard and instance = @id and not taken
   and kind not in ('event', 'child', 'task')
   and kind in ('retry', 'restart')
 order by received_at, no limit 1;

-- name: inbox_take
-- args: @shard smallint, @id uuid[], @no uuid[], @lease uuid[],
--       @latch integer??[], @kind text[], @name text[], @key text[],
--       @event_id text[], @source text[], @data json[],
--       @received_at time[]
-- Events that were taken: from the inbox, where their rows stay as a mark, or
-- found waiting for a key. Their ids are the same wherever they came from.
-- Differs: SQLite is told both keys, for either may be met first.
insert into pawl.inbox (shard, instance, no, kind, name, key, event_id,
       source, data, received_at, taken)
select @shard, s.id, s.no, s.kind, s.name, s.key, s.event_id, s.source,
       s.data, s.received_at, true
  {{from_held}}
on conflict (shard, instance, no) do update set taken = true -- only: sqlite
on conflict (shard, instance, kind, event_id) where event_id is not null
   do update set taken = true;

-- name: inbox_clear
-- args: @shard smallint, @id uuid[], @lease uuid[], @latch integer??[],
--       @revives boolean[]
-- The instance ends: nobody will read it. One that may go on (@revives, it has
-- failed) keeps its events: those that it has taken, not to take them again,
-- and those that it has not, all of them and in their order, to take them then.
{{delete_held inbox; (kind <> 'event' or not s.revives)}};

-- name: inbox_delete
-- args: @shard smallint, @id uuid[], @no uuid[], @lease uuid[],
--       @latch integer??[]
{{delete_held inbox; no = s.no}};

-- name: inbox_get
-- args: @shard smallint, @id uuid, @no uuid
-- rows: kind text
-- Has it been dealt with? Then it is not there.
select kind from (
  select kind, taken from pawl.inbox
   where shard = @shard and instance = @id and no = @no offset 0) b
 where not taken;

-- name: inbox_stray
-- args: @shard smallint, @id uuid[]
-- Letters to who was purged between the look and the letter.
delete from pawl.inbox
-- only: postgres
  t using {{short_rows}}
 cross join lateral (
  select ctid as place from pawl.inbox
   where shard = @shard and instance = s.id
     and not exists (select from pawl.instance i
                      where i.shard = @shard and i.id = s.id offset 0)
  offset 0) g
 where t.shard = @shard and t.ctid = g.place;
-- only: sqlite
 where shard = @shard and instance = @id
   and not exists (select 1 from pawl_instance
                    where shard = @shard and id = @id);
-- for all
