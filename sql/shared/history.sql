-- History: added to and trimmed, numbered by the lease's holder alone.

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
-- rows: n bigint, trimmed json
-- How often it came to a node before that visit, or stands there since; and
-- what tells of those before that were trimmed.
select count(*) as n, (select output from pawl.history
                        where shard = @shard and instance = @id and seq = 0)
         as trimmed from (
  select visit from pawl.history
   where shard = @shard and instance = @id and node = @node
     and visit < @below and seq > {{trimmed_upto}}
  union
  select visit from pawl.token_view
   where shard = @shard and instance = @id and node = @node
     and visit < @below and state in ('active', 'waiting')) v;

-- What a long history is trimmed by (rules/trim.h): all of it by the lease's
-- holder.

-- name: history_trimmed
-- args: @shard smallint, @id uuid
-- rows: at time, record json
-- What tells of rows that went.
select completed_at as at, output as record from pawl.history
 where shard = @shard and instance = @id and seq = 0;

-- name: history_old
-- args: @shard smallint, @id uuid, @after bigint, @upto bigint, @max integer
-- rows: seq bigint, token integer, visit bigint, node text, ends boolean,
--       stays boolean, changes json
select seq, token, visit, node, path is not null as ends,
       {{stays_for_ever}} as stays, changes
  from pawl.history
 where shard = @shard and instance = @id and seq > @after and seq <= @upto
 order by seq limit @max;

-- name: history_drop
-- args: @shard smallint, @id uuid[], @lease uuid[], @latch integer??[],
--       @seq bigint[]
-- Not what stays for ever, whatever is asked for.
{{delete_held history; seq = s.seq and by is null and request is null
  and type <> 'transferred'}};

-- name: history_trim
-- args: @shard smallint, @executor uuid, @id uuid[], @lease uuid[],
--       @latch integer??[], @record json[], @completed_at time[]
insert into pawl.history (shard, instance, seq, completed_at, executor, type,
       output)
select @shard, s.id, 0, s.completed_at, @executor, 'trimmed', s.record
  {{from_held}}
on conflict (shard, instance, seq) do update
   set completed_at = excluded.completed_at, executor = excluded.executor,
       output = excluded.output;
