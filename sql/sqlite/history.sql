-- name: history_step
insert into pawl_history (shard, instance, seq, type, node, token, visit,
       transition, path, attempt, executor, output, changes, started_at,
       completed_at)
values (@shard, @id, @seq, @type, @node, @token, @visit, @transition, @path,
        @attempt, @executor, @output, @changes, @started_at, @completed_at);

-- name: history_output
-- With what the step's token last had.
select h.instance, h.seq, h.output, t.data, t.branch
  from pawl_history h
  left join pawl_token t on t.shard = h.shard and t.instance = h.instance
   and t.no = h.token
 where h.shard = @shard and h.instance = @id and h.seq = @seq;
