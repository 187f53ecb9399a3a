-- Tokens: where an instance stands, when it stands in several places.

-- name: token_load
-- args: @shard smallint, @id uuid[]
-- rows: instance uuid, no integer, node text, state text, visit bigint,
--       previous_node text, scope text, fork text, branch text, data json,
--       event json, detail json, attempt integer, due_at time,
--       entered_at time
-- The live ones of these instances.
select t.instance, t.no, t.node, t.state, t.visit, t.previous_node, t.scope,
       t.fork, t.branch, t.data, t.event, t.detail, t.attempt, t.due_at,
       t.entered_at
  {{from_each}} (
  select * from pawl.token
         indexed by pawl_token_live -- only: sqlite
   where shard = @shard and instance = s.id
     and state in ('active', 'waiting') offset 0) t
 order by t.instance, t.no;

-- name: token_put
-- args: @shard smallint, @id uuid[], @lease uuid[], @latch integer??[],
--       @no integer[], @node text[], @state text[], @visit bigint[],
--       @previous_node text[], @parent integer?[], @scope text[],
--       @fork text[], @branch text[], @data json[], @event json[],
--       @detail json[], @attempt integer[], @due_at time?[],
--       @updated_at time[]
-- New ones and those that have changed.
insert into pawl.token as t (shard, instance, no, node, state, visit,
       previous_node, parent, scope, fork, branch, data, event, detail,
       attempt, due_at, entered_at, created_at)
select @shard, s.id, s.no, s.node, s.state, s.visit, s.previous_node,
       s.parent, s.scope, s.fork, s.branch, s.data, s.event, s.detail,
       s.attempt, s.due_at, s.updated_at,
       case when s.no <> 1 then s.updated_at end
  {{from_held}}
on conflict (shard, instance, no) do update
   set node = excluded.node, state = excluded.state, visit = excluded.visit,
       previous_node = excluded.previous_node, scope = excluded.scope,
       fork = excluded.fork, branch = excluded.branch, data = excluded.data,
       event = excluded.event, detail = excluded.detail,
       attempt = excluded.attempt, due_at = excluded.due_at,
       entered_at = case when t.visit = excluded.visit then t.entered_at
                         else excluded.entered_at end,
       progress = case when t.visit = excluded.visit
                        and excluded.state in ('active', 'waiting')
                       then t.progress end;

-- name: token_progress
-- args: @shard smallint, @id uuid, @lease uuid, @visit bigint
-- Before instance_progress, when several handlers run: what another one has
-- said goes to its own token.
update pawl.token as t
       indexed by pawl_token_live -- only: sqlite
   set progress = (select progress from pawl.instance
                    where shard = @shard and id = @id)
 where shard = @shard and instance = @id and state in ('active', 'waiting')
   and visit = (select progress_visit from pawl.instance
                 where shard = @shard and id = @id
                   and progress_visit <> @visit)
   and @lease = (select lease from pawl.agenda
                  where shard = @shard and instance = @id);

-- name: token_drop
-- args: @shard smallint, @id uuid[], @lease uuid[], @latch integer??[]
-- The instance ends: what still stood somewhere is dropped.
update pawl.token as t
       indexed by pawl_token_live -- only: sqlite
   set state = 'dropped'
  {{at_place token; instance = s.id and state in ('active', 'waiting')}};

-- name: token_branches
-- args: @shard smallint, @id uuid, @no integer[]
-- rows: no integer, branch text
-- As which branches they were begun.
select t.no, t.branch {{from_each}} (
  select no, branch from pawl.token
   where shard = @shard and instance = @id and no = s.no offset 0) t;
