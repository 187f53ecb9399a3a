-- Messages: what one instance's commit asks of another, until delivered.

-- name: message_insert
-- args: @shard smallint, @id uuid[], @lease uuid[], @latch integer[],
--       @seq bigint[], @kind text[], @target uuid[], @data json[],
--       @created_at time[]
insert into pawl.message (shard, instance, seq, kind, target, data,
       created_at)
select @shard, s.id, s.seq, s.kind, s.target, s.data, s.created_at
  from unnest(@id, @lease, @latch, @seq, @kind, @target, @data, @created_at)
       as s (id, lease, latch, seq, kind, target, data, created_at)
  cross join lateral (
   select 1 from pawl.agenda a
    where a.shard = @shard and a.instance = s.id and a.lease = s.lease
      and (s.latch is null or a.latch = s.latch) offset 0) held;

-- name: message_list
-- args: @shard smallint, @after uuid, @after_seq bigint, @max integer
-- rows: instance uuid, seq bigint, kind text, target uuid, data json
-- A page of what is to be delivered, each instance's in order.
select instance, seq, kind, target, data from pawl.message
 where shard = @shard and (instance, seq) > (@after, @after_seq)
 order by instance, seq limit @max;

-- name: message_delete
-- args: @shard smallint, @id uuid[], @seq bigint[]
-- Delivered.
delete from pawl.message m
 using (select * from unnest(@id, @seq)
               as s (id, seq) limit cardinality(@id)) s
 cross join lateral (
  select ctid as place from pawl.message
   where shard = @shard and instance = s.id and seq = s.seq offset 0) g
 where m.shard = @shard and m.ctid = g.place;
