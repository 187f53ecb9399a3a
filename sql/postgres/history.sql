-- History: append-only, numbered by the lease's holder alone.

-- name: history_insert
-- args: @shard smallint, @executor uuid, @id uuid[], @lease uuid[],
--       @latch integer[], @seq bigint[], @type text[], @node text[],
--       @token integer[], @visit bigint[], @transition text[], @path text[],
--       @attempt integer[], @caller text[], @text text[], @output json[],
--       @changes json[], @error json[], @started_at time[],
--       @completed_at time[], @due_at time[]
-- Each array is unnested by itself: unnest(@a, @b) would first write every
-- array to a store of its own.
insert into pawl.history (shard, instance, seq, type, node, token, visit,
       transition, path, attempt, caller, executor, text, output, changes,
       error, started_at, completed_at, due_at)
select @shard, s.id, s.seq, s.type, s.node, s.token, s.visit, s.transition,
       s.path, s.attempt, s.caller, @executor, s.text, s.output, s.changes,
       s.error, s.started_at, s.completed_at, s.due_at
  from (select unnest(@id) as id, unnest(@lease) as lease,
               unnest(@latch) as latch, unnest(@seq) as seq,
               unnest(@type) as type, unnest(@node) as node,
               unnest(@token) as token, unnest(@visit) as visit,
               unnest(@transition) as transition, unnest(@path) as path,
               unnest(@attempt) as attempt, unnest(@caller) as caller,
               unnest(@text) as text, unnest(@output) as output,
               unnest(@changes) as changes, unnest(@error) as error,
               unnest(@started_at) as started_at,
               unnest(@completed_at) as completed_at,
               unnest(@due_at) as due_at) s
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
