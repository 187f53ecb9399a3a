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
-- The rows are there; by their key, however small the table was when the plan
-- was made: an UPDATE joined with a list may walk it whole for every row.
insert into pawl.item as i (shard, instance, token, no, state, child, result,
       error)
select @shard, s.id, s.token, s.no, s.state, s.child, s.result, s.error
  from unnest(@id, @lease, @latch, @token, @no, @state, @child, @result,
              @error)
       as s (id, lease, latch, token, no, state, child, result, error)
  cross join lateral (
   select 1 from pawl.agenda a
    where a.shard = @shard and a.instance = s.id and a.lease = s.lease
      and (s.latch is null or a.latch = s.latch) offset 0) held
  cross join lateral (
   select 1 from pawl.item o
    where o.shard = @shard and o.instance = s.id and o.token = s.token
      and o.no = s.no offset 0) there
on conflict (shard, instance, token, no) do update
   set state = excluded.state, child = coalesce(excluded.child, i.child),
       result = excluded.result, error = excluded.error;

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
