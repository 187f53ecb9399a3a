-- The inbox: the only way in. The agenda row is written first (agenda_wake).

-- name: inbox_insert
-- args: @shard smallint, @id uuid, @no uuid, @kind text, @event_id text,
--       @source text, @caller text, @data json, @now time
insert into pawl_inbox (shard, instance, no, kind, event_id, source, caller,
       data, received_at)
select @shard, @id, @no, @kind, @event_id, @source, @caller, @data, @now
  from pawl_agenda where shard = @shard and instance = @id
on conflict do nothing;

-- name: inbox_insert_again
-- args: @shard smallint, @id uuid, @no uuid, @kind text, @event_id text,
--       @source text, @caller text, @data json, @now time
-- The same when the answer was lost: not if somebody has taken the first one,
-- of which a row of history tells. Who did so has committed before the agenda
-- row's lock was had.
insert into pawl_inbox (shard, instance, no, kind, event_id, source, caller,
       data, received_at)
select @shard, @id, @no, @kind, @event_id, @source, @caller, @data,
       @now
  from pawl_agenda
 where shard = @shard and instance = @id
   and not exists (select 1 from pawl_history
                    where shard = @shard and instance = @id
                      and request = @no)
on conflict do nothing;

-- name: inbox_insert_many
-- args: @shard smallint, @id uuid[], @no uuid[], @name text, @key text,
--       @event_id text, @source text, @caller text, @data json,
--       @addressed boolean, @received_at time, @now time
insert into pawl_inbox (shard, instance, no, kind, name, key, event_id,
       source, caller, data, addressed, received_at)
select @shard, @id, @no, 'event', @name, @key, @event_id, @source, @caller,
       @data, @addressed, coalesce(@received_at, @now)
  from pawl_instance
 where shard = @shard and id = @id
   and status in ('running', 'waiting', 'suspended')
   and (trigger_event is null or external_id <> 'event:' || @event_id)
on conflict do nothing;

-- name: inbox_load
-- args: @shard smallint, @id uuid[], @events integer, @others integer
-- rows: instance uuid, no uuid, kind text, name text, key text,
--       event_id text, source text, caller text, data json,
--       addressed boolean, received_at time
-- Differs: a partial index is used where its condition stands in the words of
-- the query.
select instance, no, kind, name, key, event_id, source, caller, data,
       addressed, received_at
  from (select * from (
          select * from pawl_inbox
           where shard = @shard and instance = @id and not taken
             and kind not in ('event', 'child', 'task')
           order by received_at, no limit @others)
        union all
        select * from (
          select * from pawl_inbox
           where shard = @shard and instance = @id and kind = 'child'
             and kind in ('child', 'task') and not taken
           order by received_at, no limit @others)
        union all
        select * from (
          select * from pawl_inbox
           where shard = @shard and instance = @id and kind = 'task'
             and kind in ('child', 'task') and not taken
           order by received_at, no limit @others)
        union all
        select * from (
          select * from pawl_inbox
           where shard = @shard and instance = @id and kind = 'event'
             and not taken
           order by name, received_at, no limit @events)) b
 order by received_at, no;

-- name: inbox_find
-- args: @shard smallint, @no integer[], @id uuid[], @name text[],
--       @prefix text[], @key text[], @after_at time[], @after_no uuid[],
--       @max integer[]
-- rows: instance uuid, no uuid, kind text, name text, key text,
--       event_id text, source text, caller text, data json,
--       addressed boolean, received_at time, search integer
-- Differs: there are no lateral joins, so that those of a pattern are found by
-- number, as many as are wanted of each name.
with recursive names (name) as (
  select * from (
    select name from pawl_inbox
     where shard = @shard and instance = @id and kind = 'event' and not taken
       and name >= @prefix
     order by name limit 1)
  union all
  select (select i.name from pawl_inbox i
           where i.shard = @shard and i.instance = @id and i.kind = 'event'
             and not i.taken and i.name > n.name
           order by i.name limit 1)
    from names n where substr(n.name, 1, length(@prefix)) = @prefix)
select instance, no, kind, name, key, event_id, source, caller, data,
       addressed, received_at, @no as search
  from (select * from (
          select * from pawl_inbox
           where shard = @shard and instance = @id and kind = 'event'
             and not taken and name = @name
             and (received_at, no) > (@after_at, @after_no)
             and (key = @key or (key is null and @key is null)
                  or (addressed and (key is null or @key is null)))
           order by received_at, no limit @max)
        union all
        select i.* from names w cross join pawl_inbox i
         where substr(w.name, 1, length(@prefix)) = @prefix
           and instr(substr(w.name, length(@prefix) + 1), '.') = 0
           and i.shard = @shard and i.instance = @id
           and i.no in (
            select no from pawl_inbox
             where shard = @shard and instance = @id and kind = 'event'
               and not taken and name = w.name
               and (received_at, no) > (@after_at, @after_no)
               and (key = @key or (key is null and @key is null)
                    or (addressed and (key is null or @key is null)))
             order by received_at, no limit @max))
 order by received_at, no limit @max;

-- name: inbox_known
-- args: @shard smallint, @id uuid[], @event_id text[]
-- rows: instance uuid, event_id text, created_at time
select instance, event_id, null as created_at from pawl_inbox
 where shard = @shard and instance = @id and kind = 'event'
   and event_id = @event_id
 union all
select id, case when trigger_event is not null
                 and external_id = 'event:' || @event_id then @event_id end,
       created_at
  from pawl_instance where shard = @shard and id = @id;

-- name: inbox_cancel
-- args: @shard smallint, @id uuid
-- rows: kind text
select kind from pawl_inbox
 where shard = @shard and instance = @id and not taken
   and kind not in ('event', 'child', 'task') and kind in ('cancel', 'kill')
 order by received_at, no limit 1;

-- name: inbox_take
-- args: @shard smallint, @id uuid[], @no uuid[], @lease uuid[],
--       @latch integer[], @kind text[], @name text[], @key text[],
--       @event_id text[], @source text[], @data json[],
--       @received_at time[]
-- Differs: both keys are named, for either may be met first.
insert into pawl_inbox (shard, instance, no, kind, name, key, event_id,
       source, data, received_at, taken)
select @shard, @id, @no, @kind, @name, @key, @event_id, @source, @data,
       @received_at, 1
 where exists (select 1 from pawl_agenda a
                where a.shard = @shard and a.instance = @id
                  and a.lease = @lease
                  and (@latch is null or a.latch = @latch))
on conflict (shard, instance, no) do update set taken = 1
on conflict (shard, instance, kind, event_id) where event_id is not null
   do update set taken = 1;

-- name: inbox_keep
-- args: @shard smallint, @id uuid[], @lease uuid[], @latch integer[],
--       @now time, @expires_at time
insert into pawl_event (shard, source, id, name, routed, received_at,
       expires_at)
select @shard, '', 'to:' || lower(hex(instance)) || ':' || event_id, name, 1,
       @now, @expires_at
  from pawl_inbox indexed by pawl_inbox_event
 where shard = @shard and instance = @id and kind = 'event'
   and event_id is not null and addressed
   and exists (select 1 from pawl_agenda a
                where a.shard = @shard and a.instance = @id
                  and a.lease = @lease
                  and (@latch is null or a.latch = @latch))
on conflict (shard, source, id) do update
   set expires_at = excluded.expires_at;

-- name: inbox_clear
-- args: @shard smallint, @id uuid[], @lease uuid[], @latch integer[],
--       @revives boolean[]
delete from pawl_inbox
 where shard = @shard and instance = @id
   and (kind <> 'event' or not @revives)
   and exists (select 1 from pawl_agenda a
                where a.shard = @shard and a.instance = @id
                  and a.lease = @lease
                  and (@latch is null or a.latch = @latch));

-- name: inbox_delete
-- args: @shard smallint, @id uuid[], @no uuid[], @lease uuid[],
--       @latch integer[]
delete from pawl_inbox
 where shard = @shard and instance = @id and no = @no
   and exists (select 1 from pawl_agenda a
                where a.shard = @shard and a.instance = @id
                  and a.lease = @lease
                  and (@latch is null or a.latch = @latch));

-- name: inbox_get
-- args: @shard smallint, @id uuid, @no uuid
-- rows: kind text
-- Has it been dealt with? Then it is not there.
select kind from pawl_inbox
 where shard = @shard and instance = @id and no = @no and not taken;
