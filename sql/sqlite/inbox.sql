-- The inbox: the only way in. The agenda row is written first (agenda_wake).

-- name: inbox_load
-- Differs: a partial index is used where its condition stands in the words of
-- the query.
select instance, no, kind, name, key, event_id, source, by, data,
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
           order by name, key, received_at, no limit @events)) b
 order by received_at, no;

-- name: inbox_find
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
select instance, no, kind, name, key, event_id, source, by, data,
       addressed, received_at, @no as search
  from pawl_inbox
 where shard = @shard and instance = @id
   and no in (
    {{letters_for @name}}
    union all
    select f.no from names w cross join pawl_inbox f
     where substr(w.name, 1, length(@prefix)) = @prefix
       and instr(substr(w.name, length(@prefix) + 1), '.') = 0
       and f.shard = @shard and f.instance = @id
       and f.no in ({{letters_for w.name}}))
 order by received_at, no limit @max;

-- name: inbox_known
select instance, event_id, null as created_at from pawl_inbox
 where shard = @shard and instance = @id and kind = 'event'
   and event_id = @event_id
 union all
select id, case when trigger_event is not null
                 and key = 'event:' || @event_id then @event_id end,
       created_at
  from pawl_instance where shard = @shard and id = @id;

-- name: inbox_keep
insert into pawl_event (shard, tenant, source, id, name, posted, received_at,
       expires_at)
select @shard, '', '', 'to:' || lower(hex(instance)) || ':' || event_id, name,
       1, @now, @expires_at
  from pawl_inbox indexed by pawl_inbox_event
 where shard = @shard and instance = @id and kind = 'event'
   and event_id is not null and addressed
   and {{lease_guard}}
on conflict (shard, tenant, source, id) do update
   set expires_at = excluded.expires_at;

-- name: inbox_recall
insert into pawl_inbox (shard, instance, no, kind, event_id, source,
       received_at, taken)
select @shard, @id, randomblob(16), 'event',
       coalesce(json_extract(changes, '$.event.source'), '') || ':'
       || json_extract(changes, '$.event.id'),
       coalesce(json_extract(changes, '$.event.source'), ''), completed_at, 1
  from pawl_history
 where shard = @shard and instance = @id and seq > 0
   and type in ('received', 'rescheduled')
   and json_extract(changes, '$.event.id') is not null and {{lease_guard}}
on conflict do nothing;
