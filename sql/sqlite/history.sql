-- History: append-only, numbered by the lease's holder alone.

-- name: history_insert
-- args: @shard smallint, @executor uuid, @id uuid[], @lease uuid[],
--       @latch integer[], @seq bigint[], @type text[], @node text[],
--       @token integer[], @visit bigint[], @transition text[], @path text[],
--       @attempt integer[], @caller text[], @text text[], @output json[],
--       @changes json[], @error json[], @started_at time[],
--       @completed_at time[], @due_at time[], @previous json[],
--       @request uuid[]
insert into pawl_history (shard, instance, seq, type, node, token, visit,
       transition, path, attempt, caller, executor, text, output, changes,
       error, started_at, completed_at, due_at, previous, request)
select @shard, @id, @seq, @type, @node, @token, @visit, @transition, @path,
       @attempt, @caller, @executor, @text, @output, @changes, @error,
       @started_at, @completed_at, @due_at, @previous, @request
 where exists (select 1 from pawl_agenda a
                where a.shard = @shard and a.instance = @id
                  and a.lease = @lease
                  and (@latch is null or a.latch = @latch));

-- name: history_step
-- args: @shard smallint, @executor uuid, @id uuid[], @seq bigint[],
--       @type text[], @node text[], @token integer[], @visit bigint[],
--       @transition text[], @path text[], @attempt integer[],
--       @output json[], @changes json[], @started_at time[],
--       @completed_at time[]
insert into pawl_history (shard, instance, seq, type, node, token, visit,
       transition, path, attempt, executor, output, changes, started_at,
       completed_at)
values (@shard, @id, @seq, @type, @node, @token, @visit, @transition, @path,
        @attempt, @executor, @output, @changes, @started_at, @completed_at);

-- name: history_list
-- args: @shard smallint, @id uuid
-- rows: seq bigint, type text, node text, token integer, visit bigint,
--       transition text, path text, attempt integer, caller text,
--       executor uuid, text text, output json, changes json, error json,
--       started_at time, completed_at time, due_at time, previous json
select seq, type, node, token, visit, transition, path, attempt, caller,
       executor, text, output, changes, error, started_at, completed_at,
       due_at, previous
  from pawl_history where shard = @shard and instance = @id order by seq;

-- name: history_undoable
-- args: @shard smallint, @id uuid, @below bigint, @max integer
-- rows: seq bigint, type text, node text, token integer, visit bigint,
--       previous json
-- A page of what may have to be undone, and of what was undone already, newest
-- first.
select seq, type, node, token, visit, previous
  from pawl_history
 where shard = @shard and instance = @id and seq < @below
   and type in ('step', 'received', 'task', 'child', 'undone', 'undo_failed')
   and (type <> 'child' or transition is null or transition = 'completed')
 order by seq desc limit @max;

-- name: history_undone
-- args: @shard smallint, @id uuid, @since bigint, @type text, @max integer
-- rows: seq bigint, node text, previous json, error json, completed_at time
-- What became of a compensation that began behind row @since, in order.
select seq, node, previous, error, completed_at
  from pawl_history
 where shard = @shard and instance = @id and seq >= @since and type = @type
 order by seq limit @max;

-- name: history_output
-- args: @shard smallint, @id uuid[], @seq bigint[]
-- rows: instance uuid, seq bigint, output json, data json, branch text
-- With what the step's token last had.
select h.instance, h.seq, h.output, t.data, t.branch
  from pawl_history h
  left join pawl_token t on t.shard = h.shard and t.instance = h.instance
   and t.no = h.token
 where h.shard = @shard and h.instance = @id and h.seq = @seq;

-- name: history_visits
-- args: @shard smallint, @id uuid, @node text, @below bigint
-- rows: n bigint
-- How often it came to a node before that visit, or stands there since.
select count(*) as n from (
  select visit from pawl_history
   where shard = @shard and instance = @id and node = @node
     and visit < @below
   union
  select visit from pawl_tokens
   where shard = @shard and instance = @id and node = @node
     and visit < @below and state in ('active', 'waiting')) v;
