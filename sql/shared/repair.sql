-- What those need to know who change instances from outside.

-- name: repair_state
-- args: @shard smallint, @id uuid
-- rows: status text, workflow text, version integer,
--       commits bigint, variables json, compensation json, seq bigint,
--       stopped json, deleted boolean, {{gone}},
--       tenant text, key text, successor uuid, parent uuid, completed_at time,
--       begins_at time, archived_at time
-- Of one that was archived, too, as far as there is anything. begins_at: of one
-- that is to begin later.
select i.*
  from (select @id as id offset 0) s cross join lateral ( -- only: postgres
  from ( -- only: sqlite
select status, workflow, version, commits,
       {{variables_of parts; variables; @id}},
       compensation, seq,
       case when status = 'failed' then stopped end as stopped,
       deleted_at is not null as deleted, {{gone}}, tenant, key,
       successor, parent, completed_at,
       case when visit = 0 then token_due_at end as begins_at,
       null::timestamptz as archived_at
  from pawl.instance
 where shard = @shard and id = @id
union all
select status, workflow, version, 0, null::json, null::json, 0,
       null::json, false, deletion,
       null::timestamptz, purged_at, null::json, tenant, key, successor,
       parent, completed_at, null::timestamptz, archived_at
  from pawl.archive
 where shard = @shard
   and id = s.id -- only: postgres
   and id = @id -- only: sqlite
) i;

-- name: carry_parent
-- args: @shard smallint, @id uuid
-- rows: id uuid
-- A parent that lives here, and is not away.
select id from pawl.instance
 where shard = @shard and id = @id and away is null
   and status in ('running', 'waiting', 'suspended');

-- name: carry_child
-- args: @shard smallint, @parent uuid
-- rows: id uuid
-- One of its children that lives here, and is not away.
-- Differs: for SQLite the index is named, or its planner would walk all ids.
select id from pawl.instance
       indexed by pawl_instance_parent -- only: sqlite
 where shard = @shard and parent = @parent and away is null
   and status in ('running', 'waiting', 'suspended')
 order by id limit 1;

-- name: repair_places
-- args: @shard smallint, @id uuid[]
-- rows: instance uuid, no integer, node text, state text, attempt bigint,
--       scope text, fork text, branch text, detail json, due_at time
-- Where instances stand.
select t.instance, t.no, t.node, t.state, t.attempt, t.scope, t.fork,
       t.branch, t.detail, t.due_at
  {{from_each}} (
  select * from pawl.token_view
   where shard = @shard and instance = s.id
     and state in ('active', 'waiting') offset 0) t
 order by t.instance, t.no;

-- name: repair_renames
-- args: @shard smallint, @id uuid[]
-- rows: instance uuid, seq bigint, output json
-- The moves from version to version so far, oldest first.
select h.instance, h.seq, h.output {{from_each}} (
  select instance, seq, output from pawl.history
   where shard = @shard and instance = s.id and type = 'transferred' offset 0) h
 order by h.instance, h.seq;

-- name: repair_trimmed
-- args: @shard smallint, @id uuid[]
-- rows: instance uuid
-- Those whose history is not whole any more.
select h.instance {{from_each}} (
  select instance from pawl.history
   where shard = @shard and instance = s.id and seq = 0 offset 0) h;

-- name: repair_changes
-- args: @shard smallint, @id uuid, @before bigint
-- rows: seq bigint, changes json, trimmed json
-- What became of the variables, up to some row of history; in front of it, what
-- tells of rows that were trimmed.
select seq, changes, case when seq = 0 then output end as trimmed
  from pawl.history
 where shard = @shard and instance = @id and seq < @before
   and (changes is not null or seq = 0)
 order by seq;

-- name: repair_visit
-- args: @shard smallint, @id uuid, @node text, @after bigint, @upto bigint
-- rows: came bigint, first bigint, trimmed json
-- The row of history before which a node was last come to, in some part of it:
-- the one behind the row whose path names it, as a whole word. One that no path
-- names (the start) was come to before the `first` row of its latest visit; of
-- a history that was trimmed, which tells that in `trimmed`, before row 1, as
-- that row is gone. None: 0.
select coalesce(
  (select max(seq) + 1 from pawl.history
    where shard = @shard and instance = @id and seq > @after and seq <= @upto
-- only: postgres
      and strpos(' ' || translate(replace(path, '=', ' ='), '(),;', '    ')
-- only: sqlite
      and instr(' ' || replace(replace(replace(replace(
            replace(path, '=', ' ='), '(', ' '), ')', ' '), ',', ' '), ';', ' ')
-- for all
          || ' ', ' ' || @node || ' ') > 0), 0) as came,
  coalesce(
  (select case when min(seq) > 0 and {{trimmed_upto}} > 0 then 1
               else min(seq) end
     from pawl.history
    where shard = @shard and instance = @id and node = @node
      and seq > @after and seq <= @upto
      and visit = (select max(visit) from pawl.history
                    where shard = @shard and instance = @id
                      and seq > @after and seq <= @upto
                      and node = @node)), 0) as first,
  (select output from pawl.history
    where shard = @shard and instance = @id and seq = 0) as trimmed;

-- name: repair_answer
-- args: @shard smallint, @id uuid, @request uuid, @after bigint
-- rows: type text, transition text, text text
-- How a request was met, if that left a row of history behind @after.
select type, transition, text from pawl.history
 where shard = @shard and instance = @id and seq > @after
   and request = @request
 limit 1;

-- name: repair_done
-- args: @shard smallint, @id uuid[]
-- rows: instance uuid, node text, seq bigint
-- What may have to be undone: each node once between two moves, with the
-- newest of its rows.
select s.id as instance, h.node, h.seq {{from_each}} (
  select m.node, max(m.seq) as seq from (
    select node, seq, type, transition,
           count(*) filter (where type = 'transferred') over (order by seq)
             as move
      from pawl.history where shard = @shard and instance = s.id) m
   where m.type in ('step', 'received', 'task', 'child')
     and (m.type <> 'child' or m.transition is null
          or m.transition = 'completed')
   group by m.node, m.move) h;
