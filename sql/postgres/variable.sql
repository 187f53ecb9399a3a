-- Large variables: members of the object, in rows of their own.

-- name: variable_put
-- args: @shard smallint, @id uuid[], @lease uuid[], @latch integer[],
--       @part text[], @members text[]
insert into pawl.variable (shard, instance, part, members)
select @shard, s.id, s.part, s.members
  from unnest(@id, @lease, @latch, @part, @members)
       as s (id, lease, latch, part, members)
  cross join lateral (
   select 1 from pawl.agenda a
    where a.shard = @shard and a.instance = s.id and a.lease = s.lease
      and (s.latch is null or a.latch = s.latch) offset 0) held
on conflict (shard, instance, part) do update
   set members = excluded.members;

-- name: variable_delete
-- args: @shard smallint, @id uuid[], @lease uuid[], @latch integer[],
--       @part text[]
delete from pawl.variable t
 using (select * from unnest(@id, @lease, @latch, @part)
               as s (id, lease, latch, part) limit cardinality(@id)) s
  cross join lateral (
   select 1 from pawl.agenda a
    where a.shard = @shard and a.instance = s.id and a.lease = s.lease
      and (s.latch is null or a.latch = s.latch) offset 0) held
  cross join lateral (
   select ctid as place from pawl.variable
    where shard = @shard and instance = s.id and part = s.part offset 0) g
 where t.shard = @shard and t.ctid = g.place;
