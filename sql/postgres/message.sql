-- name: message_delete
-- args: @shard smallint, @id uuid[], @seq bigint[]
-- Delivered.
delete from pawl.message m
 using {{short_rows}}
 cross join lateral (
  select ctid as place from pawl.message
   where shard = @shard and instance = s.id and seq = s.seq offset 0) g
 where m.shard = @shard and m.ctid = g.place;
