-- History: append-only, numbered by the lease's holder alone.

-- name: history_insert
-- args: @shard smallint, @executor uuid, @id uuid[], @lease uuid[],
--       @latch integer[], @seq bigint[], @type text[], @node text[],
--       @token integer[], @visit bigint[], @transition text[], @path text[],
--       @attempt integer[], @caller text[], @text text[], @output json[],
--       @changes json[], @error json[], @started_at time[],
--       @completed_at time[], @due_at time[]
insert into pawl_history (shard, instance, seq, type, node, token, visit,
       transition, path, attempt, caller, executor, text, output, changes,
       error, started_at, completed_at, due_at)
select @shard, @id, @seq, @type, @node, @token, @visit, @transition, @path,
       @attempt, @caller, @executor, @text, @output, @changes, @error,
       @started_at, @completed_at, @due_at
 where exists (select 1 from pawl_agenda a
                where a.shard = @shard and a.instance = @id
                  and a.lease = @lease
                  and (@latch is null or a.latch = @latch));

-- name: history_list
-- args: @shard smallint, @id uuid
-- rows: seq bigint, type text, node text, token integer, visit bigint,
--       transition text, path text, attempt integer, caller text,
--       executor uuid, text text, output json, changes json, error json,
--       started_at time, completed_at time, due_at time
select seq, type, node, token, visit, transition, path, attempt, caller,
       executor, text, output, changes, error, started_at, completed_at,
       due_at
  from pawl_history where shard = @shard and instance = @id order by seq;
