-- Tokens: where an instance stands, when it stands in several places.

-- name: token_load
-- args: @shard smallint, @id uuid[]
-- rows: instance uuid, no integer, node text, state text, visit bigint,
--       previous_node text, scope text, fork text, branch text, data json,
--       event json, detail json, attempt integer, due_at time
select instance, no, node, state, visit, previous_node, scope, fork, branch,
       data, event, detail, attempt, due_at
  from pawl_token indexed by pawl_token_live
 where shard = @shard and instance = @id and state in ('active', 'waiting')
 order by no;

-- name: token_put
-- args: @shard smallint, @id uuid[], @lease uuid[], @latch integer[],
--       @no integer[], @node text[], @state text[], @visit bigint[],
--       @previous_node text[], @parent integer[], @scope text[],
--       @fork text[], @branch text[], @data json[], @event json[],
--       @detail json[], @attempt integer[], @due_at time[],
--       @updated_at time[]
insert into pawl_token (shard, instance, no, node, state, visit,
       previous_node, parent, scope, fork, branch, data, event, detail,
       attempt, due_at, entered_at)
select @shard, @id, @no, @node, @state, @visit, @previous_node, @parent,
       @scope, @fork, @branch, @data, @event, @detail, @attempt, @due_at,
       @updated_at
 where exists (select 1 from pawl_agenda a
                where a.shard = @shard and a.instance = @id
                  and a.lease = @lease
                  and (@latch is null or a.latch = @latch))
on conflict (shard, instance, no) do update
   set node = excluded.node, state = excluded.state, visit = excluded.visit,
       previous_node = excluded.previous_node, scope = excluded.scope,
       fork = excluded.fork, branch = excluded.branch, data = excluded.data,
       event = excluded.event, detail = excluded.detail,
       attempt = excluded.attempt, due_at = excluded.due_at,
       entered_at = case when visit = excluded.visit then entered_at
                         else excluded.entered_at end;

-- name: token_drop
-- args: @shard smallint, @id uuid[], @lease uuid[], @latch integer[]
update pawl_token indexed by pawl_token_live set state = 'dropped'
 where shard = @shard and instance = @id and state in ('active', 'waiting')
   and exists (select 1 from pawl_agenda a
                where a.shard = @shard and a.instance = @id
                  and a.lease = @lease
                  and (@latch is null or a.latch = @latch));
