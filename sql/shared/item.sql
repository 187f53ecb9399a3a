-- Items of a dynamic fan-out: a row each, so that its cost is linear.

-- name: item_insert
-- args: @shard smallint, @id uuid[], @lease uuid[], @latch integer??[],
--       @token integer[], @no integer[], @item json[]
-- An each that is entered again begins again.
insert into pawl.item (shard, instance, token, no, item, state)
select @shard, s.id, s.token, s.no, s.item, 'open'
  {{from_held}}
on conflict (shard, instance, token, no) do update
   set item = excluded.item, state = excluded.state, child = null,
       result = null, error = null;

-- name: item_next
-- args: @shard smallint, @id uuid[], @token integer[], @first integer[],
--       @behind integer[]
-- rows: instance uuid, token integer, no integer, item json
-- Those to be begun: from @first, and before @behind.
select i.instance, i.token, i.no, i.item {{from_each}} (
  select instance, token, no, item from pawl.item
   where shard = @shard and instance = s.id and token = s.token
     and no >= s.first and no < s.behind offset 0) i
 order by i.instance, i.token, i.no;

-- name: item_results
-- args: @shard smallint, @id uuid[], @token integer[], @behind integer[]
-- rows: instance uuid, token integer, no integer, state text, result json,
--       error json
-- All of an each that is through.
select i.instance, i.token, i.no, i.state, i.result, i.error
  {{from_each}} (
  select instance, token, no, state, result, error from pawl.item
   where shard = @shard and instance = s.id and token = s.token
     and no < s.behind offset 0) i
 order by i.instance, i.token, i.no;
