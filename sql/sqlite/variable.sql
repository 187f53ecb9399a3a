-- Large variables: members of the object, in rows of their own.

-- name: variable_put
-- args: @shard smallint, @id uuid[], @lease uuid[], @latch integer[],
--       @part text[], @members text[]
insert into pawl_variable (shard, instance, part, members)
select @shard, @id, @part, @members
 where exists (select 1 from pawl_agenda a
                where a.shard = @shard and a.instance = @id
                  and a.lease = @lease
                  and (@latch is null or a.latch = @latch))
on conflict (shard, instance, part) do update
   set members = excluded.members;

-- name: variable_delete
-- args: @shard smallint, @id uuid[], @lease uuid[], @latch integer[],
--       @part text[]
delete from pawl_variable
 where shard = @shard and instance = @id and part = @part
   and exists (select 1 from pawl_agenda a
                where a.shard = @shard and a.instance = @id
                  and a.lease = @lease
                  and (@latch is null or a.latch = @latch));
