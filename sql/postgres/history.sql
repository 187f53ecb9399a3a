-- History: append-only, numbered by the lease's holder alone.

-- name: history_insert
-- args: @shard smallint, @executor uuid, @id uuid[], @lease uuid[],
--       @latch integer[], @seq bigint[], @type text[], @node text[],
--       @token integer[], @visit bigint[], @transition text[], @path text[],
--       @attempt integer[], @caller text[], @text text[], @output json[],
--       @changes json[], @error json[], @started_at time[],
--       @completed_at time[], @due_at time[], @previous json[],
--       @request uuid[]
-- Each array is unnested by itself: unnest(@a, @b) would first write every
-- array to a store of its own.
insert into pawl.history (shard, instance, seq, type, node, token, visit,
       transition, path, attempt, caller, executor, text, output, changes,
       error, started_at, completed_at, due_at, previous, request)
select @shard, s.id, s.seq, s.type, s.node, s.token, s.visit, s.transition,
       s.path, s.attempt, s.caller, @executor, s.text, s.output, s.changes,
       s.error, s.started_at, s.completed_at, s.due_at, s.previous, s.request
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
               unnest(@due_at) as due_at,
               unnest(@previous) as previous,
               unnest(@request) as request) s
  cross join lateral (
   select 1 from pawl.agenda a
    where a.shard = @shard and a.instance = s.id and a.lease = s.lease
      and (s.latch is null or a.latch = s.latch) offset 0) held;

-- name: history_step
-- args: @shard smallint, @executor uuid, @id uuid[], @seq bigint[],
--       @type text[], @node text[], @token integer[], @visit bigint[],
--       @transition text[], @path text[], @attempt integer[],
--       @output json[], @changes json[], @started_at time[],
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

-- name: history_list
-- args: @shard smallint, @id uuid
-- rows: seq bigint, type text, node text, token integer, visit bigint,
--       transition text, path text, attempt integer, caller text,
--       executor uuid, text text, output json, changes json, error json,
--       started_at time, completed_at time, due_at time, previous json
select seq, type, node, token, visit, transition, path, attempt, caller,
       executor, text, output, changes, error, started_at, completed_at,
       due_at, previous
  from pawl.history where shard = @shard and instance = @id order by seq;

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

-- name: history_output
-- args: @shard smallint, @id uuid[], @seq bigint[]
-- rows: instance uuid, seq bigint, output json, data json, branch text
-- With what the step's token last had.
select s.id as instance, s.seq, h.output, h.data, h.branch
  from unnest(@id, @seq) as s (id, seq) cross join lateral (
  select h.output, t.data, t.branch
    from pawl.history h
    left join lateral (
     select data, branch from pawl.token
      where shard = @shard and instance = s.id and no = h.token offset 0) t
      on true
   where h.shard = @shard and h.instance = s.id and h.seq = s.seq
  offset 0) h;

-- name: history_visits
-- args: @shard smallint, @id uuid, @node text, @below bigint
-- rows: n bigint
-- How often it came to a node before that visit, or stands there since.
select count(*) as n from (
  select visit from pawl.history
   where shard = @shard and instance = @id and node = @node
     and visit < @below
   union
  select visit from pawl.tokens
   where shard = @shard and instance = @id and node = @node
     and visit < @below and state in ('active', 'waiting')) v;
