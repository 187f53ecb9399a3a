-- name: event_insert
-- Differs: one that has expired makes place for a row with its own number.
{{event_row}}
select @shard, @tenant, @source, @id, @name, @key, @data, @by, @came, 0, @now,
       @now + @ttl_us
 where not exists (
  select 1 from pawl_event where shard = @shard and tenant = @tenant
     and source = @source and id = @id and expires_at > @now);

-- name: event_copy
-- Differs: as event_insert.
{{event_row}}
select @shard, @tenant, @source, @id, @name, @key, @data, @by, @came, 1,
       @received_at, @expires_at
 where not exists (
  select 1 from pawl_event where shard = @shard and tenant = @tenant
     and source = @source and id = @id and expires_at > @received_at);

-- name: event_prune
delete from pawl_event
 where rowid in (
  select rowid from pawl_event
   where shard = @shard and expires_at <= @now and posted
   order by expires_at limit @max);

-- name: event_find
-- Differs: one writes at a time, and each row has a higher number.
select @no as no, source, id, name, key, data, by, came, received_at,
       (select max(ord) + 1 from pawl_event) as horizon
  from (
   select * from (
    select * from pawl_event indexed by pawl_event_came
     where shard = @shard and tenant = @tenant and key = @key
       and (received_at, came) >= (@after_at, @after_came)
       and {{event_fits}})
   union all
   select * from (
    select * from pawl_event indexed by pawl_event_late
     where shard = @shard and tenant = @tenant and key = @key and ord >= @since
       and (received_at, came) >= (@late_at, @late_came)
       and (received_at, came) < (@after_at, @after_came)
       and {{event_fits}})
)
 order by received_at, came limit @max;
