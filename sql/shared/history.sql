-- History: append-only, numbered by the lease's holder alone.

-- name: history_insert
-- args: @shard smallint, @executor uuid, @id uuid[], @lease uuid[],
--       @latch integer??[], @seq bigint[], @type text[], @node text[],
--       @token integer?[], @visit bigint[], @transition text[], @path text[],
--       @attempt integer?[], @by text[], @text text[], @output json[],
--       @changes json[], @error json[], @started_at time?[],
--       @completed_at time[], @due_at time?[], @previous json[],
--       @request uuid[]
-- Each array is unnested by itself: unnest(@a, @b) would first write every
-- array to a store of its own.
insert into pawl.history (shard, instance, seq, type, node, token, visit,
       transition, path, attempt, by, executor, text, output, changes,
       error, started_at, completed_at, due_at, previous, request)
select @shard, s.id, s.seq, s.type, s.node, s.token, s.visit, s.transition,
       s.path, s.attempt, s.by, @executor, s.text, s.output, s.changes,
       s.error, s.started_at, s.completed_at, s.due_at, s.previous, s.request
  from (select {{unnested}}) s {{lease_guard}}; -- only: postgres
  where {{lease_guard}}; -- only: sqlite

-- name: history_list
-- args: @shard smallint, @id uuid, @after bigint, @type text, @node text,
--       @by text, @completed_after time?, @completed_before time?,
--       @changing boolean, @max integer
-- rows: seq bigint, type text, node text, token integer??, visit bigint??,
--       transition text, path text, attempt integer??, by text,
--       executor uuid, text text, output json, changes json, error json,
--       started_at time, completed_at time, due_at time, previous json,
--       request uuid
select seq, type, node, token, visit, transition, path, attempt, by,
       executor, text, output, changes, error, started_at, completed_at,
       due_at, previous, request
  from pawl.history
 where shard = @shard and instance = @id and seq > @after
   and (@type is null or type = @type)
   and (@node is null or node = @node)
   and (@by is null or by = @by)
   and (@completed_after is null or completed_at >= @completed_after)
   and (@completed_before is null or completed_at < @completed_before)
   and (not @changing or changes is not null)
 order by seq limit @max;

-- name: history_undoable
-- args: @shard smallint, @id uuid, @below bigint, @max integer
-- rows: seq bigint, type text, node text, token integer, visit bigint,
--       previous json
-- A page of what may have to be undone, and of what was undone already, newest
-- first.
select seq, type, node, token, visit, previous
  from pawl.history
 where shard = @shard and instance = @id and seq < @below
   and type in ('step', 'received', 'task', 'child', 'undone', 'undo_failed')
   and (type <> 'child' or transition is null or transition = 'completed')
 order by seq desc limit @max;

-- name: history_undone
-- args: @shard smallint, @id uuid, @since bigint, @type text, @max integer
-- rows: seq bigint, node text, previous json, error json, completed_at time
-- What became of a compensation that began behind row @since, in order.
select seq, node, previous, error, completed_at
  from pawl.history
 where shard = @shard and instance = @id and seq >= @since and type = @type
 order by seq limit @max;

-- name: history_visits
-- args: @shard smallint, @id uuid, @node text, @below bigint
-- rows: n bigint
-- How often it came to a node before that visit, or stands there since.
select count(*) as n from (
  select visit from pawl.history
   where shard = @shard and instance = @id and node = @node
     and visit < @below
   union
  select visit from pawl.token_view
   where shard = @shard and instance = @id and node = @node
     and visit < @below and state in ('active', 'waiting')) v;
