-- Items of a dynamic fan-out: a row each, so that its cost is linear.

-- name: item_insert
-- args: @shard smallint, @id uuid[], @lease uuid[], @latch integer[],
--       @token integer[], @no integer[], @item json[]
-- An each that is entered again begins again.
insert into pawl.item (shard, instance, token, no, item, state)
select @shard, s.id, s.token, s.no, s.item, 'open'
  from unnest(@id, @lease, @latch, @token, @no, @item)
       as s (id, lease, latch, token, no, item)
  cross join lateral (
   select 1 from pawl.agenda a
    where a.shard = @shard and a.instance = s.id and a.lease = s.lease
      and (s.latch is null or a.latch = s.latch) offset 0) held
on conflict (shard, instance, token, no) do update
   set item = excluded.item, state = excluded.state, child = null,
       result = null, error = null;

-- name: item_put
-- args: @shard smallint, @id uuid[], @lease uuid[], @latch integer[],
--       @token integer[], @no integer[], @state text[], @child uuid[],
--       @result json[], @error json[]
update pawl.item i
   set state = s.state, child = coalesce(s.child, i.child),
       result = s.result, error = s.error
  from unnest(@id, @lease, @latch, @token, @no, @state, @child, @result,
              @error)
       as s (id, lease, latch, token, no, state, child, result, error)
  cross join lateral (
   select 1 from pawl.agenda a
    where a.shard = @shard and a.instance = s.id and a.lease = s.lease
      and (s.latch is null or a.latch = s.latch) offset 0) held
 where i.shard = @shard and i.instance = s.id and i.token = s.token
   and i.no = s.no;

-- name: item_next
-- args: @shard smallint, @id uuid[], @token integer[], @first integer[],
--       @behind integer[]
-- rows: instance uuid, token integer, no integer, item json
-- Those to be begun: from @first, and before @behind.
select i.instance, i.token, i.no, i.item
  from unnest(@id, @token, @first, @behind)
       as s (id, token, first, behind) cross join lateral (
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
  from unnest(@id, @token, @behind) as s (id, token, behind)
 cross join lateral (
  select instance, token, no, state, result, error from pawl.item
   where shard = @shard and instance = s.id and token = s.token
     and no < s.behind offset 0) i
 order by i.instance, i.token, i.no;
