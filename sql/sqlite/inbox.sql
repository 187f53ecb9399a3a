-- The inbox: the only way in. The agenda row is written first (agenda_wake).

-- name: inbox_insert
-- args: @shard smallint, @id uuid, @no uuid, @kind text, @event_id text,
--       @source text, @caller text, @data json, @now time
insert into pawl_inbox (shard, instance, no, kind, event_id, source, caller,
       data, received_at)
select @shard, @id, @no, @kind, @event_id, @source, @caller, @data, @now
  from pawl_agenda where shard = @shard and instance = @id
on conflict do nothing;

-- name: inbox_load
-- args: @shard smallint, @id uuid[]
-- rows: instance uuid, no uuid, kind text, event_id text, source text,
--       caller text, data json, received_at time
select instance, no, kind, event_id, source, caller, data, received_at
  from pawl_inbox where shard = @shard and instance = @id order by no;

-- name: inbox_delete
-- args: @shard smallint, @id uuid[], @no uuid[], @lease uuid[],
--       @latch integer[]
delete from pawl_inbox
 where shard = @shard and instance = @id and no = @no
   and exists (select 1 from pawl_agenda a
                where a.shard = @shard and a.instance = @id
                  and a.lease = @lease
                  and (@latch is null or a.latch = @latch));
