-- Attributes: typed values that queries can ask for.

-- name: attribute_start
-- args: @shard smallint, @id uuid[], @name text[], @type text[],
--       @text_value text[], @date_value time[], @bytes_value bytes[],
--       @float_value float[], @number_value numeric[],
--       @boolean_value boolean[], @now time
insert into pawl_attribute (shard, instance, name, type, text_value,
       date_value, bytes_value, float_value, number_value, boolean_value,
       workflow, updated_at)
select @shard, @id, @name, @type, @text_value, @date_value, @bytes_value,
       @float_value, @number_value, @boolean_value, workflow, @now
  from pawl_instance
 where shard = @shard and id = @id and version = 0
on conflict do nothing;

-- name: attribute_put
-- args: @shard smallint, @id uuid[], @lease uuid[], @latch integer[],
--       @name text[], @type text[], @text_value text[], @date_value time[],
--       @bytes_value bytes[], @float_value float[], @number_value numeric[],
--       @boolean_value boolean[], @workflow text[], @updated_at time[]
insert into pawl_attribute (shard, instance, name, type, text_value,
       date_value, bytes_value, float_value, number_value, boolean_value,
       workflow, updated_at)
select @shard, @id, @name, @type, @text_value, @date_value, @bytes_value,
       @float_value, @number_value, @boolean_value, @workflow, @updated_at
 where exists (select 1 from pawl_agenda a
                where a.shard = @shard and a.instance = @id
                  and a.lease = @lease
                  and (@latch is null or a.latch = @latch))
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
delete from pawl_attribute
 where shard = @shard and instance = @id and name = @name
   and exists (select 1 from pawl_agenda a
                where a.shard = @shard and a.instance = @id
                  and a.lease = @lease
                  and (@latch is null or a.latch = @latch));

-- name: attribute_list
-- args: @shard smallint, @id uuid
-- rows: name text, type text, text_value text, date_value time,
--       bytes_value bytes, float_value float, number_value numeric,
--       boolean_value boolean
select name, type, text_value, date_value, bytes_value, float_value,
       number_value, boolean_value
  from pawl_attribute where shard = @shard and instance = @id order by name;
