-- Messages: what one instance's commit asks of another, until delivered.

-- name: message_insert
-- args: @shard smallint, @id uuid[], @lease uuid[], @latch integer??[],
--       @seq bigint[], @kind text[], @target uuid[], @data json[],
--       @created_at time[]
insert into pawl.message (shard, instance, seq, kind, target, data,
       created_at)
select @shard, s.id, s.seq, s.kind, s.target, s.data, s.created_at
  {{from_held}};

-- name: message_list
-- args: @shard smallint, @after uuid, @after_seq bigint, @max integer
-- rows: instance uuid, seq bigint, kind text, target uuid, data json
-- A page of what is to be delivered, each instance's in order.
select instance, seq, kind, target, data from pawl.message
 where shard = @shard and (instance, seq) > (@after, @after_seq)
 order by instance, seq limit @max;
