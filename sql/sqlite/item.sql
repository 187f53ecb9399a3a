-- Items of a dynamic fan-out: a row each, so that its cost is linear.

-- name: item_insert
-- args: @shard smallint, @id uuid[], @lease uuid[], @latch integer[],
--       @token integer[], @no integer[], @item json[]
insert into pawl_item (shard, instance, token, no, item, state)
select @shard, @id, @token, @no, @item, 'open'
 where exists (select 1 from pawl_agenda a
                where a.shard = @shard and a.instance = @id
                  and a.lease = @lease
                  and (@latch is null or a.latch = @latch))
on conflict (shard, instance, token, no) do update
   set item = excluded.item, state = excluded.state, child = null,
       result = null, error = null;

-- name: item_put
-- args: @shard smallint, @id uuid[], @lease uuid[], @latch integer[],
--       @token integer[], @no integer[], @state text[], @child uuid[],
--       @result json[], @error json[]
update pawl_item
   set state = @state, child = coalesce(@child, child), result = @result,
       error = @error
 where shard = @shard and instance = @id and token = @token and no = @no
   and exists (select 1 from pawl_agenda a
                where a.shard = @shard and a.instance = @id
                  and a.lease = @lease
                  and (@latch is null or a.latch = @latch));

-- name: item_next
-- args: @shard smallint, @id uuid[], @token integer[], @first integer[],
--       @behind integer[]
-- rows: instance uuid, token integer, no integer, item json
select instance, token, no, item from pawl_item
 where shard = @shard and instance = @id and token = @token
   and no >= @first and no < @behind
 order by no;

-- name: item_results
-- args: @shard smallint, @id uuid[], @token integer[], @behind integer[]
-- rows: instance uuid, token integer, no integer, state text, result json,
--       error json
select instance, token, no, state, result, error from pawl_item
 where shard = @shard and instance = @id and token = @token and no < @behind
 order by no;
