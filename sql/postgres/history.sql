-- History: append-only, numbered by the lease's holder alone.

-- name: history_insert
-- args: @shard smallint, @executor uuid, @id uuid[], @lease uuid[],
--       @latch integer[], @seq bigint[], @type text[], @node text[],
--       @token integer[], @visit bigint[], @transition text[], @path text[],
--       @attempt integer[], @caller text[], @text text[], @output json[],
--       @changes json[], @error json[], @started_at time[],
--       @completed_at time[], @due_at time[]
insert into pawl.history (shard, instance, seq, type, node, token, visit,
       transition, path, attempt, caller, executor, text, output, changes,
       error, started_at, completed_at, due_at)
select @shard, s.id, s.seq, s.type, s.node, s.token, s.visit, s.transition,
       s.path, s.attempt, s.caller, @executor, s.text, s.output, s.changes,
       s.error, s.started_at, s.completed_at, s.due_at
  from unnest(@id, @lease, @latch, @seq, @type, @node, @token, @visit,
              @transition, @path, @attempt, @caller, @text, @output, @changes,
              @error, @started_at, @completed_at, @due_at)
       as s (id, lease, latch, seq, type, node, token, visit, transition,
             path, attempt, caller, text, output, changes, error, started_at,
             completed_at, due_at)
  cross join lateral (
   select 1 from pawl.agenda a
    where a.shard = @shard and a.instance = s.id and a.lease = s.lease
      and (s.latch is null or a.latch = s.latch) offset 0) held;

-- name: history_list
-- args: @shard smallint, @id uuid
-- rows: seq bigint, type text, node text, token integer, visit bigint,
--       transition text, path text, attempt integer, caller text,
--       executor uuid, text text, output json, changes json, error json,
--       started_at time, completed_at time, due_at time
select seq, type, node, token, visit, transition, path, attempt, caller,
       executor, text, output, changes, error, started_at, completed_at,
       due_at
  from pawl.history where shard = @shard and instance = @id order by seq;
