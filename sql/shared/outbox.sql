-- The outbox: what workflows tell the world, in their steps' own commits.

-- name: outbox_list
-- args: @shard smallint[], @type text, @instance uuid, @emitted_before time?,
--       @after_at time??, @after_instance uuid, @after_seq bigint??,
--       @max integer
-- rows: instance uuid, seq bigint, type text, payload json, created_at time,
--       attempts integer, due_at time, error text
-- What waits to be published, in the order it is due; the caller merges the
-- shards. @after...: the page behind that row.
select o.* {{from_each}} (
  select instance, seq, type, payload, created_at, attempts, due_at,
         error
    from pawl.outbox t
   where t.shard = s.shard and published_at is null
     and (@type is null or type = @type)
     and (@instance is null or instance = @instance)
     and (@emitted_before is null or created_at < @emitted_before)
     and (@after_at is null or (due_at, instance, seq)
          > (@after_at, @after_instance, @after_seq))
   order by due_at, instance, seq limit @max) o;

-- name: outbox_insert
-- args: @shard smallint, @id uuid[], @lease uuid[], @latch integer??[],
--       @seq bigint[], @type text[], @payload json[], @created_at time[]
insert into pawl.outbox (shard, instance, seq, type, payload, created_at,
       attempts, due_at)
select @shard, s.id, s.seq, s.type, s.payload, s.created_at, 0, s.created_at
  {{from_held}};
