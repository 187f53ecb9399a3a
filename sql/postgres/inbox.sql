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

-- name: inbox_load
-- args: @shard smallint, @id uuid[]
-- rows: instance uuid, no uuid, kind text, event_id text, source text,
--       caller text, data json, received_at time
select b.instance, b.no, b.kind, b.event_id, b.source, b.caller, b.data,
       b.received_at
  from unnest(@id) as s (id)
  join pawl.inbox b on b.shard = @shard and b.instance = s.id
 order by b.instance, b.no;

-- name: inbox_delete
-- args: @shard smallint, @id uuid[], @no uuid[], @lease uuid[],
--       @latch integer[]
delete from pawl.inbox b
 using unnest(@id, @no, @lease, @latch) as s (id, no, lease, latch)
  cross join lateral (
   select 1 from pawl.agenda a
    where a.shard = @shard and a.instance = s.id and a.lease = s.lease
      and (s.latch is null or a.latch = s.latch) offset 0) held
 where b.shard = @shard and b.instance = s.id and b.no = s.no;
