-- Large variables: members of the object, in rows of their own.

-- name: variable_put
-- args: @shard smallint, @id uuid[], @lease uuid[], @latch integer??[],
--       @part text[], @members text[]
insert into pawl.variable (shard, instance, part, members)
select @shard, s.id, s.part, s.members
  {{from_held}}
on conflict (shard, instance, part) do update
   set members = excluded.members;

-- name: variable_delete
-- args: @shard smallint, @id uuid[], @lease uuid[], @latch integer??[],
--       @part text[]
{{delete_held variable; part = s.part}};
