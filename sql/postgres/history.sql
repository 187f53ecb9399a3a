-- name: history_step
-- args: @shard smallint, @executor uuid, @id uuid[], @seq bigint[],
--       @type text[], @node text[], @token integer?[], @visit bigint[],
--       @transition text[], @path text[], @attempt integer?[],
--       @output json[], @changes json[], @started_at time?[],
--       @completed_at time[]
-- Behind instance_step or instance_finish, which have failed where an
-- instance is another's.
insert into pawl.history (shard, instance, seq, type, node, token, visit,
       transition, path, attempt, executor, output, changes, started_at,
       completed_at)
select @shard, unnest(@id), unnest(@seq), unnest(@type), unnest(@node),
       unnest(@token), unnest(@visit), unnest(@transition), unnest(@path),
       unnest(@attempt), @executor, unnest(@output), unnest(@changes),
       unnest(@started_at), unnest(@completed_at);

-- name: history_output
-- args: @shard smallint, @id uuid[], @seq bigint[]
-- rows: instance uuid, seq bigint, output json, data json, branch text
-- With what the step's token last had.
select s.id as instance, s.seq, h.output, h.data, h.branch
  from {{rows}} cross join lateral (
  select h.output, t.data, t.branch
    from pawl.history h
    left join lateral (
     select data, branch from pawl.token
      where shard = @shard and instance = s.id and no = h.token offset 0) t
      on true
   where h.shard = @shard and h.instance = s.id and h.seq = s.seq
  offset 0) h;
