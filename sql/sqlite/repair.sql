-- What those need to know who change instances from outside.

-- name: repair_state
-- args: @shard smallint, @id uuid
-- rows: status text, workflow text, workflow_version integer,
--       version bigint, variables json, compensation json, seq bigint,
--       started boolean, stopped json
select status, workflow, workflow_version, version,
       case when parts = 0 then variables
            else (select '{' || group_concat(v.members, ',') || '}'
                    from pawl_variable v
                   where v.shard = @shard and v.instance = @id) end
       as variables,
       compensation, seq, started_at is not null as started,
       case when status = 'failed' then stopped end as stopped
  from pawl_instance
 where shard = @shard and id = @id and deleted_at is null;

-- name: repair_places
-- args: @shard smallint, @id uuid[]
-- rows: instance uuid, no integer, node text, state text, fork text,
--       branch text, detail json
-- Where instances stand.
select instance, no, node, state, fork, branch, detail
  from pawl_tokens
 where shard = @shard and instance = @id and state in ('active', 'waiting')
 order by no;

-- name: repair_renames
-- args: @shard smallint, @id uuid[]
-- rows: instance uuid, seq bigint, output json
-- The moves from version to version so far, oldest first.
select instance, seq, output from pawl_history
 where shard = @shard and instance = @id and type = 'migrated'
 order by seq;

-- name: repair_done
-- args: @shard smallint, @id uuid[]
-- rows: instance uuid, node text, seq bigint
-- What may have to be undone: each node once between two moves, with the
-- newest of its rows.
select instance, node, max(seq) as seq from (
  select instance, node, seq, type, transition,
         sum(type = 'migrated') over (order by seq) as move
    from pawl_history where shard = @shard and instance = @id)
 where type in ('step', 'received', 'task', 'child')
   and (type <> 'child' or transition is null or transition = 'completed')
 group by instance, node, move;

-- name: repair_live
-- args: @shard smallint, @workflow text, @workflow_version integer,
--       @after uuid, @max integer
-- rows: id uuid, version bigint, started boolean, compensation json,
--       stopped json
-- A page of the instances of a version that may go on, in the order of their
-- ids: unfinished ones, and those that have failed and tell where they stood.
select * from (
  select t.id, t.version, t.started_at is not null as started, t.compensation,
         null as stopped
    from pawl_instance t
   where t.shard = @shard and t.workflow = @workflow and t.status = 'running'
     and t.id > @after and t.workflow_version = @workflow_version
     and t.deleted_at is null
   order by t.id limit @max)
union all select * from (
  select t.id, t.version, t.started_at is not null as started, t.compensation,
         null as stopped
    from pawl_instance t
   where t.shard = @shard and t.workflow = @workflow and t.status = 'waiting'
     and t.id > @after and t.workflow_version = @workflow_version
     and t.deleted_at is null
   order by t.id limit @max)
union all select * from (
  select t.id, t.version, t.started_at is not null as started, t.compensation,
         null as stopped
    from pawl_instance t
   where t.shard = @shard and t.workflow = @workflow and t.status = 'suspended'
     and t.id > @after and t.workflow_version = @workflow_version
     and t.deleted_at is null
   order by t.id limit @max)
union all select * from (
  select t.id, t.version, t.started_at is not null as started, t.compensation,
         t.stopped as stopped
    from pawl_instance t
   where t.shard = @shard and t.workflow = @workflow and t.status = 'failed'
     and t.id > @after and t.workflow_version = @workflow_version
     and t.deleted_at is null and t.stopped is not null
   order by t.id limit @max)
 order by id limit @max;

-- name: repair_changes
-- args: @shard smallint, @id uuid, @before bigint
-- rows: seq bigint, changes json
-- What became of the variables, up to some row of history.
select seq, changes from pawl_history
 where shard = @shard and instance = @id and seq < @before
   and changes is not null
 order by seq;

-- name: repair_visit
-- args: @shard smallint, @id uuid, @node text
-- rows: seq bigint
select coalesce(
  (select max(seq) + 1 from pawl_history
    where shard = @shard and instance = @id
      and instr(' ' ||
          replace(replace(replace(replace(replace(path, '=', ' ='), '(', ' '),
          ')', ' '), ',', ' '), ';', ' ') || ' ', ' ' || @node || ' ') > 0),
  (select min(seq) from pawl_history
    where shard = @shard and instance = @id and node = @node
      and visit = (select max(visit) from pawl_history
                    where shard = @shard and instance = @id
                      and node = @node))) as seq;

-- name: repair_answer
-- args: @shard smallint, @id uuid, @request uuid, @after bigint
-- rows: type text, text text, error json
-- How a request was met, if that left a row of history behind @after.
select type, text, error from pawl_history
 where shard = @shard and instance = @id and seq > @after
   and request = @request
 limit 1;
