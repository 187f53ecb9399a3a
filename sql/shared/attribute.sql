-- Attributes: typed values that queries can ask for.

-- columns: typed
--   name text, type text, text_value text, date_value time??,
--   bytes_value bytes, float_value float, number_value numeric,
--   boolean_value boolean??
-- An attribute: one of its values is not null.

-- name: attribute_start
-- args: @shard smallint, @id uuid[], @name text[], @type text[],
--       @text_value text[], @date_value time??[], @bytes_value bytes[],
--       @float_value float[], @number_value numeric[],
--       @boolean_value boolean??[], @sortable text[], @now time?
-- Those given to a start; a repeated start adds nothing.
insert into pawl.attribute {{attribute_row}} {{now}}
  {{from_each}} (
  select 1 from pawl.instance
   where shard = @shard and id = s.id and commits = 0 offset 0) i
 where true
on conflict do nothing;

-- name: attribute_put
-- args: @shard smallint, @id uuid[], @lease uuid[], @latch integer??[],
--       @name text[], @type text[], @text_value text[], @date_value time??[],
--       @bytes_value bytes[], @float_value float[], @number_value numeric[],
--       @boolean_value boolean??[], @sortable text[], @updated_at time[]
insert into pawl.attribute {{attribute_row}} s.updated_at
  {{from_held}}
on conflict (shard, instance, name) do update
   set type = excluded.type, text_value = excluded.text_value,
       date_value = excluded.date_value, bytes_value = excluded.bytes_value,
       float_value = excluded.float_value,
       number_value = excluded.number_value,
       boolean_value = excluded.boolean_value,
       sortable = excluded.sortable,
       updated_at = excluded.updated_at;

-- name: attribute_delete
-- args: @shard smallint, @id uuid[], @lease uuid[], @latch integer??[],
--       @name text[]
{{delete_held attribute; name = s.name}};

-- name: attribute_list
-- args: @shard smallint, @id uuid
-- rows: {{typed}}
select {{typed}}
  from pawl.attribute where shard = @shard and instance = @id order by name;

-- name: attribute_were
-- args: @shard smallint, @id uuid[]
-- rows: instance uuid, {{typed}}
-- The same of several, before some of them change.
select a.instance, {{typed a.}}
  {{from_each}} (
  select * from pawl.attribute
   where shard = @shard and instance = s.id offset 0) a;
