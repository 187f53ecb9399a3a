-- Messages: what one instance's commit asks of another, until delivered.

-- name: message_insert
-- args: @shard smallint, @id uuid[], @lease uuid[], @latch integer[],
--       @seq bigint[], @kind text[], @target uuid[], @data json[],
--       @created_at time[]
insert into pawl_message (shard, instance, seq, kind, target, data,
       created_at)
select @shard, @id, @seq, @kind, @target, @data, @created_at
 where exists (select 1 from pawl_agenda a
                where a.shard = @shard and a.instance = @id
                  and a.lease = @lease
                  and (@latch is null or a.latch = @latch));

-- name: message_list
-- args: @shard smallint, @after uuid, @after_seq bigint, @max integer
-- rows: instance uuid, seq bigint, kind text, target uuid, data json
select instance, seq, kind, target, data from pawl_message
 where shard = @shard and (instance, seq) > (@after, @after_seq)
 order by instance, seq limit @max;

-- name: message_delete
-- args: @shard smallint, @id uuid[], @seq bigint[]
delete from pawl_message
 where shard = @shard and instance = @id and seq = @seq;
