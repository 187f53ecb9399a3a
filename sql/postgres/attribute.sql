-- Attributes: typed values that queries can ask for.

-- name: attribute_start
-- args: @shard smallint, @id uuid[], @name text[], @type text[],
--       @text_value text[], @date_value time[], @bytes_value bytes[],
--       @float_value float[], @number_value numeric[],
--       @boolean_value boolean[], @now time
-- Those given to a start; a repeated start adds nothing.
insert into pawl.attribute (shard, instance, name, type, text_value,
       date_value, bytes_value, float_value, number_value, boolean_value,
       workflow, updated_at)
select @shard, s.id, s.name, s.type, s.text_value, s.date_value,
       s.bytes_value, s.float_value, s.number_value, s.boolean_value,
       i.workflow, coalesce(@now, now())
  from unnest(@id, @name, @type, @text_value, @date_value, @bytes_value,
              @float_value, @number_value, @boolean_value)
       as s (id, name, type, text_value, date_value, bytes_value,
             float_value, number_value, boolean_value)
 cross join lateral (
  select workflow from pawl.instance
   where shard = @shard and id = s.id and version = 0 offset 0) i
on conflict do nothing;

-- name: attribute_put
-- args: @shard smallint, @id uuid[], @lease uuid[], @latch integer[],
--       @name text[], @type text[], @text_value text[], @date_value time[],
--       @bytes_value bytes[], @float_value float[], @number_value numeric[],
--       @boolean_value boolean[], @workflow text[], @updated_at time[]
insert into pawl.attribute as t (shard, instance, name, type, text_value,
       date_value, bytes_value, float_value, number_value, boolean_value,
       workflow, updated_at)
select @shard, s.id, s.name, s.type, s.text_value, s.date_value,
       s.bytes_value, s.float_value, s.number_value, s.boolean_value,
       s.workflow, s.updated_at
  from unnest(@id, @lease, @latch, @name, @type, @text_value, @date_value,
              @bytes_value, @float_value, @number_value, @boolean_value,
              @workflow, @updated_at)
       as s (id, lease, latch, name, type, text_value, date_value,
             bytes_value, float_value, number_value, boolean_value, workflow,
             updated_at)
  cross join lateral (
   select 1 from pawl.agenda a
    where a.shard = @shard and a.instance = s.id and a.lease = s.lease
      and (s.latch is null or a.latch = s.latch) offset 0) held
on conflict (shard, instance, name) do update
   set type = excluded.type, text_value = excluded.text_value,
       date_value = excluded.date_value, bytes_value = excluded.bytes_value,
       float_value = excluded.float_value,
       number_value = excluded.number_value,
       boolean_value = excluded.boolean_value,
       updated_at = excluded.updated_at;

-- name: attribute_delete
-- args: @shard smallint, @id uuid[], @lease uuid[], @latch integer[],
--       @name text[]
delete from pawl.attribute t
 using (select * from unnest(@id, @lease, @latch, @name)
               as s (id, lease, latch, name) limit cardinality(@id)) s
  cross join lateral (
   select 1 from pawl.agenda a
    where a.shard = @shard and a.instance = s.id and a.lease = s.lease
      and (s.latch is null or a.latch = s.latch) offset 0) held
  cross join lateral (
   select ctid as place from pawl.attribute
    where shard = @shard and instance = s.id and name = s.name offset 0) g
 where t.shard = @shard and t.ctid = g.place;

-- name: attribute_list
-- args: @shard smallint, @id uuid
-- rows: name text, type text, text_value text, date_value time,
--       bytes_value bytes, float_value float, number_value numeric,
--       boolean_value boolean
select name, type, text_value, date_value, bytes_value, float_value,
       number_value, boolean_value
  from pawl.attribute where shard = @shard and instance = @id order by name;
