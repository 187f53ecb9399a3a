-- name: item_put
-- args: @shard smallint, @id uuid[], @lease uuid[], @latch integer??[],
--       @token integer[], @no integer[], @state text[], @child uuid[],
--       @result json[], @error json[]
-- The rows are there; by their key, however small the table was when the plan
-- was made: an UPDATE joined with a list may walk it whole for every row.
insert into pawl.item as i (shard, instance, token, no, state, child, result,
       error)
select @shard, s.id, s.token, s.no, s.state, s.child, s.result, s.error
  from {{rows}} {{lease_guard}}
  cross join lateral (
   select 1 from pawl.item o
    where o.shard = @shard and o.instance = s.id and o.token = s.token
      and o.no = s.no offset 0) there
on conflict (shard, instance, token, no) do update
   set state = excluded.state, child = coalesce(excluded.child, i.child),
       result = excluded.result, error = excluded.error;
