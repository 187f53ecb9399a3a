-- Counters: how many instances have gone from one status to another.

-- name: counter_read
-- args: @workflow text, @since time
-- rows: workflow text, version integer, status text, node text,
--       amount bigint, came bigint, begun bigint
-- How many there are now; and since a minute, how many have come there by what
-- they did, and how many of those were begun: who undeletes one, brings it back
-- or transfers it makes nothing happen anew. All of the table, which is small.
select workflow, version, status, node, sum(amount)::bigint as amount,
       sum(came)::bigint as came, sum(begun)::bigint as begun
  from (
  select workflow, version, status, node, amount,
         case when minute >= @since and was <> 'deleted'
                   and was <> 'archived' and was <> 'transferred'
              then amount else 0 end as came,
         case when minute >= @since and was = '' then amount else 0 end
           as begun
    from pawl.counter where @workflow is null or workflow = @workflow
  union all
  select workflow, version, was, was_node, -amount, 0, 0
    from pawl.counter
   where was <> '' and (@workflow is null or workflow = @workflow)) c
 group by workflow, version, status, node
having sum(amount) <> 0 or sum(came) <> 0
 order by workflow, version, status, node;

-- name: counter_add
-- args: @shard smallint, @workflow text[], @version integer[], @was text[],
--       @was_node text[], @status text[], @node text[], @minute time[],
--       @amount bigint[]
-- So many turns more of each kind. SQLite's driver sends it, behind statements
-- that change a status (store/sqturns.h); PostgreSQL's do it by themselves.
insert into pawl.counter (shard, workflow, version, was, was_node, status,
       node, minute, amount)
-- only: postgres
select @shard, s.workflow, s.version, s.was, s.was_node, s.status, s.node,
       s.minute, s.amount
  from (select {{unnested}}) s;
-- only: sqlite
values (@shard, @workflow, @version, @was, @was_node, @status, @node, @minute,
        @amount)
on conflict do update set amount = amount + excluded.amount;
-- for all
